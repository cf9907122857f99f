package wire

import (
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// typeOf is the type of cells that a family's value type stands for. Value types
// that the database does not have are stored as bytes: the type is remembered,
// and values stay as they come.
func typeOf(t *adminpb.Type) (cells.Type, schema.Aggregate, error) {
	switch kind := t.GetKind().(type) {
	case *adminpb.Type_AggregateType:
		a, err := aggregateOf(kind.AggregateType)
		return cells.TypeAny, a, err
	case *adminpb.Type_StringType:
		return cells.TypeString, schema.NoAggregate, nil
	case *adminpb.Type_Int64Type:
		if exact := ExactOf(kind.Int64Type); exact == cells.TypeI32 || exact == cells.TypeByte {
			return exact, schema.NoAggregate, nil
		}
		return integerType(kind.Int64Type.GetEncoding()), schema.NoAggregate, nil
	case *adminpb.Type_TimestampType:
		return integerType(kind.TimestampType.GetEncoding().GetUnixMicrosInt64()), schema.NoAggregate, nil
	case *adminpb.Type_Float32Type:
		return cells.TypeF32, schema.NoAggregate, nil
	case *adminpb.Type_Float64Type:
		return cells.TypeF64, schema.NoAggregate, nil
	case *adminpb.Type_BoolType:
		return cells.TypeBool, schema.NoAggregate, nil
	case *adminpb.Type_BytesType, *adminpb.Type_DateType, *adminpb.Type_StructType, *adminpb.Type_ArrayType,
		*adminpb.Type_MapType, *adminpb.Type_ProtoType, *adminpb.Type_EnumType:
		return cells.TypeBytes, schema.NoAggregate, nil
	}
	return cells.TypeAny, schema.NoAggregate, nil
}

// integerType is the type of big-endian integers, which is the default; the
// other encoding makes values of several lengths.
func integerType(e *adminpb.Type_Int64_Encoding) cells.Type {
	if e.GetOrderedCodeBytes() != nil {
		return cells.TypeBytes
	}
	return cells.TypeI64
}

func aggregateOf(a *adminpb.Type_Aggregate) (schema.Aggregate, error) {
	var aggregate schema.Aggregate
	switch a.GetAggregator().(type) {
	case *adminpb.Type_Aggregate_Sum_:
		aggregate = schema.AggregateSum
	case *adminpb.Type_Aggregate_Min_:
		aggregate = schema.AggregateMin
	case *adminpb.Type_Aggregate_Max_:
		aggregate = schema.AggregateMax
	case *adminpb.Type_Aggregate_HllppUniqueCount:
		return schema.AggregateHLL, nil
	default:
		return 0, Invalid("the aggregate type has no aggregator: sum, min, max or hllpp_unique_count")
	}
	switch k := a.GetInputType().GetKind().(type) {
	case *adminpb.Type_Int64Type:
		if integerType(k.Int64Type.GetEncoding()) == cells.TypeI64 {
			return aggregate, nil
		}
	case nil:
		return aggregate, nil
	}
	return 0, Invalid("the %s of other values than big-endian Int64 is not supported", aggregate)
}

// TypeMessage is the value type of a family: the given one, if it still fits the
// family.
func TypeMessage(f *schema.Family, given *adminpb.Type) *adminpb.Type {
	if t, a, err := typeOf(given); err == nil && given != nil && t == f.Type && a == f.Aggregate {
		return given
	}
	if f.Aggregate != schema.NoAggregate {
		return aggregateMessage(f.Aggregate)
	}
	return valueTypes[f.Type]
}

var int64Type = &adminpb.Type{Kind: &adminpb.Type_Int64Type{Int64Type: &adminpb.Type_Int64{Encoding: &adminpb.Type_Int64_Encoding{
	Encoding: &adminpb.Type_Int64_Encoding_BigEndianBytes_{BigEndianBytes: &adminpb.Type_Int64_Encoding_BigEndianBytes{}},
}}}}

var bytesType = &adminpb.Type{Kind: &adminpb.Type_BytesType{BytesType: &adminpb.Type_Bytes{Encoding: &adminpb.Type_Bytes_Encoding{
	Encoding: &adminpb.Type_Bytes_Encoding_Raw_{Raw: &adminpb.Type_Bytes_Encoding_Raw{}},
}}}}

var stringType = &adminpb.Type{Kind: &adminpb.Type_StringType{StringType: &adminpb.Type_String{Encoding: &adminpb.Type_String_Encoding{
	Encoding: &adminpb.Type_String_Encoding_Utf8Bytes_{Utf8Bytes: &adminpb.Type_String_Encoding_Utf8Bytes{}},
}}}}

// valueTypes are Bigtable's types of families with a type.
var valueTypes = map[cells.Type]*adminpb.Type{
	cells.TypeBytes:  bytesType,
	cells.TypeString: stringType,
	cells.TypeByte:   int64Type,
	cells.TypeI32:    int64Type,
	cells.TypeI64:    int64Type,
	cells.TypeBool:   {Kind: &adminpb.Type_BoolType{BoolType: &adminpb.Type_Bool{}}},
	cells.TypeF32:    {Kind: &adminpb.Type_Float32Type{Float32Type: &adminpb.Type_Float32{}}},
	cells.TypeF64:    {Kind: &adminpb.Type_Float64Type{Float64Type: &adminpb.Type_Float64{}}},
}

// aggregateMessage is the type of a family that aggregates. Every state reads as
// an Int64.
func aggregateMessage(a schema.Aggregate) *adminpb.Type {
	m := &adminpb.Type_Aggregate{InputType: int64Type, StateType: int64Type}
	switch a {
	case schema.AggregateSum:
		m.Aggregator = &adminpb.Type_Aggregate_Sum_{Sum: &adminpb.Type_Aggregate_Sum{}}
	case schema.AggregateMin:
		m.Aggregator = &adminpb.Type_Aggregate_Min_{Min: &adminpb.Type_Aggregate_Min{}}
	case schema.AggregateMax:
		m.Aggregator = &adminpb.Type_Aggregate_Max_{Max: &adminpb.Type_Aggregate_Max{}}
	default:
		m.InputType = bytesType
		m.Aggregator = &adminpb.Type_Aggregate_HllppUniqueCount{HllppUniqueCount: &adminpb.Type_Aggregate_HyperLogLogPlusPlusUniqueCount{}}
	}
	return &adminpb.Type{Kind: &adminpb.Type_AggregateType{AggregateType: m}}
}

// CompleteType adds the server's part to a type: the state of an aggregate, the
// encoding of an integer.
func CompleteType(t *adminpb.Type) *adminpb.Type {
	if t == nil {
		return nil
	}
	t = proto.Clone(t).(*adminpb.Type)
	a := t.GetAggregateType()
	if a == nil {
		return t
	}
	if a.InputType == nil {
		a.InputType = int64Type
	}
	a.StateType = int64Type
	return t
}
