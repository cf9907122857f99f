package wire

import (
	"math"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// Bigtable's filters cannot express a condition, and its statistics have few figures.
// smolwc's client and server have fields for both.

// JudgesConditions is a value of ExactHeader of a server that judges conditions, see
// [SetConditions].
const JudgesConditions = "where"

const (
	ConditionsField protowire.Number = 64007 // of a ReadRowsRequest: Conditions

	costField protowire.Number = 64008 // of a FullReadStatsView: Plan_Cost
)

// Conditions is the type of the message in [ConditionsField].
var Conditions = new(smolwcpb.Conditions).ProtoReflect().Descriptor()

// setOwn puts a message into a field that only smolwc knows.
func setOwn(m proto.Message, number protowire.Number, own proto.Message) error {
	b, err := proto.Marshal(own)
	if err == nil {
		r := m.ProtoReflect()
		r.SetUnknown(protowire.AppendBytes(protowire.AppendTag(r.GetUnknown(), number, protowire.BytesType), b))
	}
	return err
}

// ownOf reads the message in such a field; ok is false without it.
func ownOf(m proto.Message, number protowire.Number, own proto.Message) (ok bool, err error) {
	EachField(m.ProtoReflect().GetUnknown(), func(f Field) bool {
		if f.Number == number && f.Kind == protowire.BytesType {
			ok, err = true, proto.Unmarshal(f.Content, own)
		}
		return !ok
	})
	return ok, err
}

// SetConditions puts conditions into a request.
func SetConditions(m *bigtablepb.ReadRowsRequest, where []read.Condition) error {
	if len(where) == 0 {
		return nil
	}
	return setOwn(m, ConditionsField, &smolwcpb.Conditions{All: conditionMessages(where)})
}

func conditionMessages(where []read.Condition) (all []*smolwcpb.Condition) {
	for i := range where {
		c := &where[i]
		m := &smolwcpb.Condition{
			Family: c.Family, Qualifier: []byte(c.Qualifier), Kind: int32(c.Kind), Operator: int32(c.Op), Subject: int32(c.On), Part: int64(c.Part),
			Pattern: []byte(c.Pattern), OtherFamily: c.Other.Family, OtherQualifier: []byte(c.Other.Qualifier), Terms: conditionMessages(c.Terms),
		}
		if c.Value.Type().Valid() {
			m.Value = typedMessage(c.Value)
		}
		for _, v := range c.Values {
			m.Values = append(m.Values, typedMessage(v))
		}
		all = append(all, m)
	}
	return all
}

func typedMessage(v cells.Value) *smolwcpb.Condition_Value {
	return &smolwcpb.Condition_Value{Type: int32(v.Type()), Data: AppendValue(nil, v)}
}

// ConditionsOf are the conditions in a request.
func ConditionsOf(m *bigtablepb.ReadRowsRequest) ([]read.Condition, error) {
	own := &smolwcpb.Conditions{}
	if ok, err := ownOf(m, ConditionsField, own); err != nil {
		return nil, Invalid("the conditions are no message: %v", err)
	} else if !ok {
		return nil, nil
	}
	return conditions(own.GetAll())
}

func conditions(all []*smolwcpb.Condition) (where []read.Condition, err error) {
	if len(all) > 0 {
		where = make([]read.Condition, 0, len(all))
	}
	for _, m := range all {
		for _, n := range []int64{int64(m.GetKind()), int64(m.GetOperator()), int64(m.GetSubject())} {
			if n < 0 || n > math.MaxUint8 {
				return nil, Invalid("a condition has the number %d, which this version does not know", n)
			}
		}
		c := read.Condition{
			Family: m.GetFamily(), Qualifier: string(m.GetQualifier()), Kind: read.ConditionKind(m.GetKind()), Op: cells.Op(m.GetOperator()),
			On: read.Subject(m.GetSubject()), Part: int(m.GetPart()), Pattern: string(m.GetPattern()),
		}
		if c.Kind == read.ComparesColumns {
			c.Other = read.Column(m.GetOtherFamily(), string(m.GetOtherQualifier()))
		}
		if m.GetValue() != nil {
			if c.Value, err = typedValue(m.GetValue()); err != nil {
				return nil, err
			}
		}
		for _, of := range m.GetValues() {
			v, err := typedValue(of)
			if err != nil {
				return nil, err
			}
			c.Values = append(c.Values, v)
		}
		if c.Terms, err = conditions(m.GetTerms()); err != nil {
			return nil, err
		}
		where = append(where, c)
	}
	return where, nil
}

func typedValue(m *smolwcpb.Condition_Value) (cells.Value, error) {
	t := cells.Type(min(max(m.GetType(), 0), math.MaxUint8))
	if !t.Valid() || t == cells.TypeAny {
		return cells.Value{}, Invalid("a condition has a value of the type %d, which this version does not know", m.GetType())
	}
	return ValueOf(&schema.Family{Type: t}, nil, m.GetData())
}

// SetCost adds the cost of a read to its statistics.
func SetCost(m *bigtablepb.FullReadStatsView, c *read.Cost) error {
	return setOwn(m, costField, &smolwcpb.Plan_Cost{
		RowsScanned: c.RowsScanned, CellsScanned: c.CellsScanned, BytesScanned: c.BytesScanned, Tombstones: c.Tombstones,
		Seeks: c.Seeks, Families: int64(c.Families),
	})
}

// CostOf is the cost of a read; ok is false if the server does not say it.
func CostOf(m *bigtablepb.FullReadStatsView) (c read.Cost, ok bool) {
	own := &smolwcpb.Plan_Cost{}
	if ok, err := ownOf(m, costField, own); !ok || err != nil {
		return c, false
	}
	return read.Cost{
		RowsScanned: own.GetRowsScanned(), CellsScanned: own.GetCellsScanned(), BytesScanned: own.GetBytesScanned(), Tombstones: own.GetTombstones(),
		Seeks: own.GetSeeks(), Families: int(own.GetFamilies()),
	}, true
}
