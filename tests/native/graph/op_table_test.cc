// ops.def parses, and what it says is usable.
#include <gtest/gtest.h>

#include <set>

#include "graph/op.h"
#include "graph/shape.h"

namespace thirdbook {
namespace {

TEST(OpTable, EveryRowIsFoundByItsNameAndStartsItsSchema) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < static_cast<size_t>(Op::kCount); ++i) {
    const OpInfo& info = Info(static_cast<Op>(i));
    EXPECT_EQ(static_cast<size_t>(info.op), i);
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " twice";
    EXPECT_EQ(FindOp(info.name), &info);
    EXPECT_EQ(info.schema.substr(0, info.schema.find('(')), info.name);
    int lists = 0;
    bool defaults_began = false;
    for (const Parameter& p : info.parameters) {
      lists += p.type == Parameter::Type::kTensorList;
      // As in Python: after a default only defaults, except behind `*`.
      if (!p.keyword_only) {
        EXPECT_TRUE(p.has_default || !defaults_began) << info.schema;
        defaults_began |= p.has_default;
      }
    }
    EXPECT_LE(lists, 1) << info.schema;
  }
  EXPECT_EQ(FindOp("no_such_op"), nullptr);
}

TEST(OpTable, ParsesTypesAndDefaults) {
  const OpInfo& conv = Info(Op::k_conv2d);
  ASSERT_EQ(conv.parameters.size(), 7u);
  EXPECT_TRUE(conv.parameters[2].optional);
  EXPECT_EQ(conv.parameters[3].list_size, 2);
  EXPECT_EQ(std::get<Sizes>(conv.parameters[3].default_value), (Sizes{1, 1}));
  const OpInfo& norm = Info(Op::k_layer_norm);
  EXPECT_EQ(std::get<double>(norm.parameters[4].default_value), 1e-5);
  EXPECT_TRUE(Info(Op::k_index).parameters[1].optional_elements);
  EXPECT_TRUE(Info(Op::k_add).parameters[2].keyword_only);
}

TEST(OpTable, MissingTrailingAttributesTakeTheirDefaults) {
  Attrs attrs = CompleteAttrs(Op::k_sum, {Sizes{0}});
  ASSERT_EQ(attrs.size(), 3u);
  EXPECT_EQ(std::get<bool>(attrs[1]), false);
  EXPECT_TRUE(std::holds_alternative<None>(attrs[2]));
}

TEST(OpTable, ArgumentsThatDoNotFitTheSchemaAreTypeErrors) {
  TensorMeta x = ContiguousMeta(DType::kFloat32, {2});
  EXPECT_EQ(Infer(Op::k_add, {&x}, {}).status().kind(), ErrorKind::kType);
  EXPECT_EQ(Infer(Op::k_add, {&x, nullptr}, {}).status().kind(), ErrorKind::kType);
  EXPECT_EQ(Infer(Op::k_view, {&x}, {int64_t{2}}).status().kind(), ErrorKind::kType);
  EXPECT_EQ(Infer(Op::k_view, {&x}, {}).status().kind(), ErrorKind::kType);
  EXPECT_EQ(Infer(Op::k_neg, {&x}, {int64_t{2}}).status().kind(), ErrorKind::kType);
}

TEST(DType, PromotionIsTheLatticeAndTiersDecide) {
  EXPECT_EQ(Promote(DType::kUInt8, DType::kInt32), DType::kInt32);
  EXPECT_EQ(Promote(DType::kInt64, DType::kFloat32), DType::kFloat32);
  TensorMeta vector = ContiguousMeta(DType::kInt32, {2}), zero_d = ContiguousMeta(DType::kFloat64, {}),
             weak = ContiguousMeta(DType::kInt64, {});
  weak.weak = true;
  EXPECT_EQ(ResultType({&vector, &weak}), DType::kInt32);
  EXPECT_EQ(ResultType({&vector, &zero_d}), DType::kFloat64);
  TensorMeta floats = ContiguousMeta(DType::kFloat32, {2});
  EXPECT_EQ(ResultType({&floats, &zero_d}), DType::kFloat32);
  SetDefaultDType(DType::kFloat64);
  EXPECT_EQ(Infer(Op::k_exp, {&vector}, {}).value()[0].dtype, DType::kFloat64);
  SetDefaultDType(DType::kFloat32);
  EXPECT_EQ(Infer(Op::k_exp, {&vector}, {}).value()[0].dtype, DType::kFloat32);
}

TEST(InPlace, ChecksCategoryAndSizes) {
  TensorMeta ints = ContiguousMeta(DType::kInt64, {2}), floats = ContiguousMeta(DType::kFloat32, {2});
  EXPECT_EQ(CheckInPlace(ints, floats).message(),
            "result type Float can't be cast to the desired output type Long");
  EXPECT_TRUE(CheckInPlace(floats, ints).ok());
  EXPECT_EQ(CheckInPlace(ints, ContiguousMeta(DType::kInt64, {3, 2})).message(),
            "output with shape [2] doesn't match the broadcast shape [3, 2]");
}

TEST(Shape, HugeSizesAreErrorsNotOverflow) {
  TensorMeta x = ContiguousMeta(DType::kFloat32, {2, 3});
  int64_t huge = int64_t{1} << 62;
  EXPECT_FALSE(Infer(Op::k_repeat, {&x}, {Sizes{huge, huge}}).ok());
  EXPECT_FALSE(Infer(Op::k_expand, {&x}, {Sizes{huge, huge, 2, 3}}).ok());
  EXPECT_FALSE(Infer(Op::k_as_strided, {&x}, {Sizes{huge}, Sizes{huge}}).ok());
  EXPECT_FALSE(Infer(Op::k_zeros, {}, {Sizes{huge, huge}}).ok());
  EXPECT_FALSE(Infer(Op::k_constant_pad_nd, {&x}, {Sizes{INT64_MAX, INT64_MIN}}).ok());
  EXPECT_FALSE(Infer(Op::k_view, {&x}, {Sizes{huge, huge, -1}}).ok());
  EXPECT_TRUE(Infer(Op::k_slice, {&x}, {int64_t{0}, INT64_MIN, INT64_MAX, INT64_MAX}).ok());
}

}  // namespace
}  // namespace thirdbook
