#include "graph/serialize.h"

#include <algorithm>
#include <cstring>

#include "graph/shape.h"
#include "tensor/convert.h"

namespace thirdbook {
namespace {

constexpr char kMagic[8] = {'T', 'B', 'G', 'R', 'A', 'P', 'H', '\0'};
constexpr uint32_t kMostRank = 64;

// A file knows no default dtype: it is written and read under this one.
class UsualDefaultDType {
 public:
  UsualDefaultDType() : saved_(DefaultDType()) { SetDefaultDType(DType::kFloat32); }
  ~UsualDefaultDType() { SetDefaultDType(saved_); }
  UsualDefaultDType(const UsualDefaultDType&) = delete;
  UsualDefaultDType& operator=(const UsualDefaultDType&) = delete;

 private:
  const DType saved_;
};

// ---- writing ----

class Writer {
 public:
  template <typename T>
  void Put(T value) {  // the platforms we run on are little endian
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof value);
  }
  void PutBytes(const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), p, p + size);
  }
  void PutString(std::string_view text) {
    Put(static_cast<uint32_t>(text.size()));
    PutBytes(text.data(), text.size());
  }
  void PutInts(const Sizes& list) {
    for (int64_t x : list) Put(x);
  }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

void PutAttr(Writer* w, const Attr& attr) {
  w->Put(static_cast<uint8_t>(attr.index()));
  if (const auto* b = std::get_if<bool>(&attr)) w->Put(static_cast<uint8_t>(*b));
  if (const auto* i = std::get_if<int64_t>(&attr)) w->Put(*i);
  if (const auto* d = std::get_if<double>(&attr)) w->Put(*d);
  if (const auto* t = std::get_if<DType>(&attr)) w->Put(static_cast<uint8_t>(*t));
  if (const auto* s = std::get_if<std::string>(&attr)) w->PutString(*s);
  if (const auto* list = std::get_if<Sizes>(&attr)) {
    w->Put(static_cast<uint32_t>(list->size()));
    w->PutInts(*list);
  }
}

void PutMeta(Writer* w, const TensorMeta& meta, bool with_layout) {
  w->Put(static_cast<uint8_t>(meta.dtype));
  w->Put(static_cast<uint32_t>(meta.sizes.size()));
  w->PutInts(meta.sizes);
  if (with_layout) {
    w->PutInts(meta.strides);
    w->Put(meta.offset);
  }
  w->Put(static_cast<uint8_t>(meta.weak));
}

// Attributes with which the node has its dtypes under the usual default, whatever it was traced under.
Result<Attrs> AttrsToSave(const Graph& graph, const Node& node) {
  std::vector<const TensorMeta*> operands;
  for (ValueRef v : node.operands) operands.push_back(v.defined() ? &graph.meta(v) : nullptr);
  const auto fit = [&](const Attrs& attrs) {
    const Result<std::vector<TensorMeta>> metas = Infer(node.op, operands, attrs);
    return metas.ok() && std::equal(metas->begin(), metas->end(), node.metas.begin(), node.metas.end(),
                                    [](const auto& a, const auto& b) { return a.dtype == b.dtype; });
  };
  if (fit(node.attrs)) return node.attrs;
  Attrs attrs = node.attrs;
  size_t next = 0;
  for (const Parameter& p : Info(node.op).parameters) {
    if (p.is_operand()) continue;
    if (p.type == Parameter::Type::kDType && std::holds_alternative<None>(attrs[next]))
      attrs[next] = node.metas[0].dtype;
    ++next;
  }
  if (fit(attrs)) return attrs;
  return NotImplementedError(
      std::string(Info(node.op).name) +
      " has its dtype from a default dtype other than float32, which a file does not know");
}

// ---- reading ----

// Every read checks what is left; after a failure all reads give zeros and ok() is false.
class Reader {
 public:
  Reader(const uint8_t* bytes, size_t size) : at_(bytes), left_(size) {}
  bool ok() const { return ok_; }
  size_t left() const { return left_; }

  template <typename T>
  T Get() {
    T value{};
    if (const uint8_t* p = Take(sizeof value)) std::memcpy(&value, p, sizeof value);
    return value;
  }
  const uint8_t* Take(size_t size) {
    if (!ok_ || size > left_) {
      ok_ = false;
      return nullptr;
    }
    const uint8_t* p = at_;
    at_ += size;
    left_ -= size;
    return p;
  }
  // A count of things that take at least `least` bytes each.
  uint32_t GetCount(size_t least) {
    uint32_t count = Get<uint32_t>();
    if (count > left_ / least) ok_ = false;
    return ok_ ? count : 0;
  }
  std::string GetString() {
    uint32_t size = GetCount(1);
    const uint8_t* p = Take(size);
    return p ? std::string(reinterpret_cast<const char*>(p), size) : std::string();
  }
  Sizes GetInts(uint32_t count) {
    Sizes list(count);
    for (int64_t& x : list) x = Get<int64_t>();
    return list;
  }

 private:
  const uint8_t* at_;
  size_t left_;
  bool ok_ = true;
};

Status Damaged(const std::string& what) { return ValueError("not a usable graph file: " + what); }

Result<DType> GetDType(Reader* r) {
  uint8_t dtype = r->Get<uint8_t>();
  if (dtype >= kNumDTypes) return Damaged("unknown dtype");
  return static_cast<DType>(dtype);
}

Result<Attr> GetAttr(Reader* r) {
  switch (r->Get<uint8_t>()) {
    case 0: return Attr(None{});
    case 1: return Attr(r->Get<uint8_t>() != 0);
    case 2: return Attr(r->Get<int64_t>());
    case 3: return Attr(r->Get<double>());
    case 4: {
      TB_ASSIGN_OR_RETURN(DType dtype, GetDType(r));
      return Attr(dtype);
    }
    case 5: return Attr(r->GetInts(r->GetCount(sizeof(int64_t))));
    case 6: return Attr(r->GetString());
    default: return Damaged("unknown attribute kind");
  }
}

Result<TensorMeta> GetMeta(Reader* r, bool with_layout) {
  TensorMeta meta;
  TB_ASSIGN_OR_RETURN(meta.dtype, GetDType(r));
  uint32_t rank = r->GetCount(sizeof(int64_t));
  if (rank > kMostRank) return Damaged("too many dimensions");
  meta.sizes = r->GetInts(rank);
  TB_RETURN_IF_ERROR(CheckedNumel(meta.sizes).status());
  meta.strides = with_layout ? r->GetInts(rank) : ContiguousStrides(meta.sizes);
  if (with_layout) meta.offset = r->Get<int64_t>();
  meta.weak = r->Get<uint8_t>() != 0;
  constexpr int64_t kLimit = int64_t{1} << 56;
  if (meta.offset < 0 || meta.offset > kLimit) return Damaged("offset out of range");
  for (size_t i = 0; i < meta.sizes.size(); ++i) {  // so that no later sum of products overflows
    int64_t bound = kLimit / (meta.sizes[i] > 0 ? meta.sizes[i] : 1);
    if (meta.strides[i] > bound || meta.strides[i] < -bound) return Damaged("stride out of range");
  }
  if (meta.weak && rank != 0) return Damaged("a number with dimensions");
  return meta;
}

Result<Tensor> GetConstant(Reader* r, const TensorMeta& meta) {
  uint64_t bytes = static_cast<uint64_t>(meta.numel()) * static_cast<uint64_t>(ItemSize(meta.dtype));
  if (bytes > r->left()) return Damaged("a constant is cut off");
  TB_ASSIGN_OR_RETURN(Tensor value, Tensor::Empty(meta.dtype, meta.sizes));
  const uint8_t* p = r->Take(static_cast<size_t>(bytes));
  if (p && bytes > 0) std::memcpy(value.data(), p, static_cast<size_t>(bytes));
  if (meta.dtype == DType::kBool) {
    for (uint64_t i = 0; i < bytes; ++i) value.data<uint8_t>()[i] = p[i] != 0;
  }
  return value;
}

Status GetNode(Reader* r, Graph* graph) {
  std::string name = r->GetString();
  const OpInfo* info = FindOp(name);
  if (!r->ok()) return Damaged("cut off");
  if (!info) return Damaged("unknown operation '" + name.substr(0, 64) + "'");
  std::vector<ValueRef> operands(r->GetCount(8));
  for (ValueRef& v : operands) {
    v.node.value = r->Get<int32_t>();
    v.output = r->Get<int32_t>();
    if (v.node.value == -1) continue;
    bool exists = v.node.value >= 0 && static_cast<size_t>(v.node.value) < graph->nodes().size() &&
                  v.output >= 0 && static_cast<size_t>(v.output) < graph->node(v.node).metas.size();
    if (!exists) return Damaged("an operand that is not there");
  }
  Attrs attrs;
  for (uint32_t n = r->GetCount(1); n > 0; --n) {
    TB_ASSIGN_OR_RETURN(Attr attr, GetAttr(r));
    attrs.push_back(std::move(attr));
  }
  if (info->op == Op::k_input || info->op == Op::k_constant) {
    if (!operands.empty() || !attrs.empty()) return Damaged("a source with operands");
    bool is_input = info->op == Op::k_input;
    std::string input_name = is_input ? r->GetString() : std::string();
    TB_ASSIGN_OR_RETURN(TensorMeta meta, GetMeta(r, is_input));
    if (!r->ok()) return Damaged("cut off");
    if (is_input) {
      graph->AddInput(std::move(input_name), std::move(meta));
    } else {
      TB_ASSIGN_OR_RETURN(Tensor value, GetConstant(r, meta));
      graph->AddConstant(std::move(value), meta.weak);
    }
    return r->ok() ? Status::Ok() : Damaged("cut off");
  }
  if (!r->ok()) return Damaged("cut off");
  Result<ValueRef> added = graph->AddNode(info->op, std::move(operands), std::move(attrs));
  return added.ok() ? Status::Ok() : Damaged(name + ": " + added.status().message());
}

}  // namespace

Result<std::vector<uint8_t>> SaveGraph(const Graph& graph) {
  const UsualDefaultDType usual;
  Writer w;
  w.PutBytes(kMagic, sizeof kMagic);
  w.Put(kGraphVersion);
  w.Put(static_cast<uint32_t>(graph.nodes().size()));
  auto put_ref = [&w](ValueRef v) {
    w.Put(v.node.value);
    w.Put(v.output);
  };
  for (const Node& node : graph.nodes()) {
    TB_CHECK(node.symbolic.empty());  // exported graphs have the sizes of their trace
    w.PutString(Info(node.op).name);
    w.Put(static_cast<uint32_t>(node.operands.size()));
    for (ValueRef v : node.operands) put_ref(v);
    const bool is_source = node.op == Op::k_input || node.op == Op::k_constant;
    TB_ASSIGN_OR_RETURN(const Attrs attrs, is_source ? node.attrs : AttrsToSave(graph, node));
    w.Put(static_cast<uint32_t>(attrs.size()));
    for (const Attr& attr : attrs) PutAttr(&w, attr);
    if (node.op == Op::k_input) {
      w.PutString(node.name);
      PutMeta(&w, node.metas[0], true);
    } else if (node.op == Op::k_constant) {
      PutMeta(&w, node.metas[0], false);
      TB_ASSIGN_OR_RETURN(Tensor value, AsContiguous(node.constant, node.constant.dtype()));
      w.PutBytes(value.data(), static_cast<size_t>(value.meta().numel() * ItemSize(value.dtype())));
    }
  }
  w.Put(static_cast<uint32_t>(graph.outputs().size()));
  for (ValueRef v : graph.outputs()) put_ref(v);
  return w.Take();
}

Result<Graph> LoadGraph(const uint8_t* bytes, size_t size) {
  Reader r(bytes, size);
  const uint8_t* magic = r.Take(sizeof kMagic);
  if (!magic || std::memcmp(magic, kMagic, sizeof kMagic) != 0) return Damaged("it does not start as one");
  uint32_t version = r.Get<uint32_t>();
  if (version > kGraphVersion) {
    return Damaged(Format("it was written by a newer version (format %u, this one reads up to %u)", version,
                          kGraphVersion));
  }
  if (version == 0) return Damaged("no version");
  const UsualDefaultDType usual;
  Graph graph;
  uint32_t nodes = r.GetCount(12);
  for (uint32_t i = 0; i < nodes; ++i) TB_RETURN_IF_ERROR(GetNode(&r, &graph));
  uint32_t outputs = r.GetCount(8);
  for (uint32_t i = 0; i < outputs; ++i) {
    ValueRef v;
    v.node.value = r.Get<int32_t>();
    v.output = r.Get<int32_t>();
    bool exists = v.node.value >= 0 && static_cast<size_t>(v.node.value) < graph.nodes().size() &&
                  v.output >= 0 && static_cast<size_t>(v.output) < graph.node(v.node).metas.size();
    if (!exists) return Damaged("an output that is not there");
    graph.AddOutput(v);
  }
  if (!r.ok()) return Damaged("cut off");
  if (r.left() != 0) return Damaged("bytes after its end");
  TB_RETURN_IF_ERROR(Verify(graph));
  return graph;
}

}  // namespace thirdbook
