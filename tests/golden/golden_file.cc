#include "golden/golden_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/json.h"

namespace deepinfer::golden {
namespace {

using json::Cursor;

Result<std::vector<double>> Numbers(const Cursor& object, std::string_view key) {
  return object.Read<std::vector<double>>(key);
}

Status ReadSteps(const Cursor& root, GoldenCase& c) {
  DI_ASSIGN_OR_RETURN(const Cursor steps, root.Get("steps"));
  DI_ASSIGN_OR_RETURN(const std::vector<Cursor> items, steps.Items());
  for (const Cursor& item : items) {
    GoldenStep step;
    DI_ASSIGN_OR_RETURN(step.logsumexp, item.Read<double>("logsumexp"));
    DI_ASSIGN_OR_RETURN(const Cursor top5, item.Get("top5"));
    DI_ASSIGN_OR_RETURN(const std::vector<Cursor> pairs, top5.Items());
    for (const Cursor& pair : pairs) {
      DI_ASSIGN_OR_RETURN(const std::vector<double> values, pair.As<std::vector<double>>());
      step.top5.emplace_back(static_cast<int32_t>(values.at(0)), values.at(1));
    }
    c.steps.push_back(std::move(step));
  }
  return OkStatus();
}

Status ReadLayers(const Cursor& root, GoldenCase& c) {
  DI_ASSIGN_OR_RETURN(const auto layers, root.Find("layers"));
  if (!layers.has_value()) return OkStatus();
  DI_ASSIGN_OR_RETURN(const std::vector<Cursor> items, layers->Items());
  for (const Cursor& item : items) {
    GoldenLayer layer;
    DI_ASSIGN_OR_RETURN(layer.layer, item.Read<int32_t>("layer"));
    DI_ASSIGN_OR_RETURN(layer.stream_rms, item.Read<double>("stream_rms"));
    DI_ASSIGN_OR_RETURN(const Cursor positions, item.Get("positions"));
    DI_ASSIGN_OR_RETURN(const std::vector<Cursor> entries, positions.Items());
    for (const Cursor& entry : entries) {
      GoldenPosition position;
      DI_ASSIGN_OR_RETURN(position.position, entry.Read<int32_t>("position"));
      DI_ASSIGN_OR_RETURN(const Cursor streams, entry.Get("streams"));
      DI_ASSIGN_OR_RETURN(const std::vector<Cursor> rows, streams.Items());
      for (const Cursor& row : rows) {
        DI_ASSIGN_OR_RETURN(std::vector<double> values, row.As<std::vector<double>>());
        position.streams.push_back(std::move(values));
      }
      layer.positions.push_back(std::move(position));
    }
    c.layers.push_back(std::move(layer));
  }
  DI_ASSIGN_OR_RETURN(const Cursor hidden, root.Get("final_hidden"));
  DI_ASSIGN_OR_RETURN(const std::vector<Cursor> rows, hidden.Items());
  for (const Cursor& row : rows) {
    GoldenHidden h;
    DI_ASSIGN_OR_RETURN(h.position, row.Read<int32_t>("position"));
    DI_ASSIGN_OR_RETURN(h.first, Numbers(row, "first16"));
    c.final_hidden.push_back(std::move(h));
  }
  return OkStatus();
}

Result<GoldenCase> ReadCase(const std::string& line) {
  DI_ASSIGN_OR_RETURN(const json::Value value, json::Parse(line));
  const Cursor root(value);
  GoldenCase c;
  DI_ASSIGN_OR_RETURN(c.name, root.Read<std::string>("name"));
  DI_ASSIGN_OR_RETURN(c.prompt_ids, root.Read<std::vector<int32_t>>("prompt_ids"));
  DI_ASSIGN_OR_RETURN(c.greedy_ids, root.Read<std::vector<int32_t>>("greedy_ids"));
  DI_ASSIGN_OR_RETURN(c.prompt_logprobs, Numbers(root, "prompt_logprobs"));
  DI_RETURN_IF_ERROR(ReadSteps(root, c));
  DI_RETURN_IF_ERROR(ReadLayers(root, c));
  return c;
}

}  // namespace

std::vector<GoldenCase> ReadGoldenFile(const std::string& file) {
  const std::string path = std::string(DI_SOURCE_DIR) + "/tests/golden/" + file;
  std::ifstream in(path);
  std::vector<GoldenCase> cases;
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty()) continue;
    Result<GoldenCase> parsed = ReadCase(line);
    EXPECT_TRUE(parsed.ok()) << path << ": " << parsed.status().ToString();
    if (parsed.ok()) cases.push_back(*parsed);
  }
  EXPECT_FALSE(cases.empty()) << path;
  return cases;
}

}  // namespace deepinfer::golden
