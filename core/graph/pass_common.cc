// merge-common: of two pure nodes that compute the same, users read the first.
#include <cstring>
#include <map>
#include <string>

#include "graph/passes.h"

namespace thirdbook {
namespace {

template <typename T>
void Append(std::string* key, const T& value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendAttr(std::string* key, const Attr& attr) {
  key->push_back(static_cast<char>(attr.index()));
  if (const auto* b = std::get_if<bool>(&attr)) Append(key, *b);
  if (const auto* i = std::get_if<int64_t>(&attr)) Append(key, *i);
  if (const auto* d = std::get_if<double>(&attr))
    Append(key, *d);  // by bits: -0.0 is not 0.0, a NaN is itself
  if (const auto* t = std::get_if<DType>(&attr)) Append(key, *t);
  if (const auto* s = std::get_if<std::string>(&attr)) {
    Append(key, s->size());
    *key += *s;
  }
  if (const auto* list = std::get_if<Sizes>(&attr)) {
    Append(key, list->size());
    for (int64_t x : *list) Append(key, x);
  }
}

// Equal keys: same op, operands, attributes, or same constant. Empty: not to be merged.
std::string KeyOf(const Node& node, const Replacement& replaced) {
  if (!IsPure(node)) return {};
  std::string key;
  Append(&key, node.op);
  if (node.op == Op::k_constant) {
    const TensorMeta& meta = node.constant.meta();
    if (meta.numel() > 16 || !meta.IsContiguous()) return {};  // large ones are compared by nobody
    Append(&key, meta.dtype);
    Append(&key, node.metas[0].weak);
    Append(&key, meta.sizes.size());
    for (int64_t s : meta.sizes) Append(&key, s);
    key.append(node.constant.data<char>(), static_cast<size_t>(meta.numel() * ItemSize(meta.dtype)));
    return key;
  }
  for (ValueRef v : node.operands) {
    ValueRef found = replaced.Find(v);
    Append(&key, found.node.value);
    Append(&key, found.output);
  }
  for (const Attr& attr : node.attrs) AppendAttr(&key, attr);
  return key;
}

}  // namespace

int MergeCommon(Graph* graph) {
  Replacement replaced(*graph);
  std::map<std::string, int32_t> first;
  for (size_t i = 0; i < graph->nodes().size(); ++i) {
    const Node& node = graph->nodes()[i];
    std::string key = KeyOf(node, replaced);
    if (key.empty()) continue;
    auto [entry, is_new] = first.emplace(std::move(key), static_cast<int32_t>(i));
    if (is_new) continue;
    for (size_t o = 0; o < node.metas.size(); ++o) {
      replaced.Set({NodeId{static_cast<int32_t>(i)}, static_cast<int32_t>(o)},
                   {NodeId{entry->second}, static_cast<int32_t>(o)});
    }
  }
  return replaced.Apply(graph);
}

}  // namespace thirdbook
