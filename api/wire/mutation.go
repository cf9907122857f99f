package wire

import (
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query/write"
)

// Mutation is a change of a row as a message. A set at the server's time uses
// the timestamp -1.
func Mutation(c *write.Change) *bigtablepb.Mutation {
	switch c.Kind {
	case write.SetChange:
		ts := int64(c.Since)
		if c.ServerTime {
			ts = -1
		}
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_SetCell_{SetCell: &bigtablepb.Mutation_SetCell{
			FamilyName: c.Family, ColumnQualifier: []byte(c.Qualifier), TimestampMicros: ts, Value: AppendValue(nil, c.Value),
		}}}
	case write.AddChange:
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_AddToCell_{AddToCell: &bigtablepb.Mutation_AddToCell{
			FamilyName: c.Family, ColumnQualifier: rawValue([]byte(c.Qualifier)), Timestamp: rawTimestamp(c.Since), Input: input(c.Value),
		}}}
	case write.MergeChange:
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_MergeToCell_{MergeToCell: &bigtablepb.Mutation_MergeToCell{
			FamilyName: c.Family, ColumnQualifier: rawValue([]byte(c.Qualifier)), Timestamp: rawTimestamp(c.Since),
			Input: rawValue(AppendValue(nil, c.Value)),
		}}}
	case write.DeleteVersionsChange:
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromColumn_{DeleteFromColumn: &bigtablepb.Mutation_DeleteFromColumn{
			FamilyName: c.Family, ColumnQualifier: []byte(c.Qualifier),
			TimeRange: &bigtablepb.TimestampRange{StartTimestampMicros: int64(c.Since), EndTimestampMicros: int64(c.Until)},
		}}}
	case write.DeleteFamilyChange:
		return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromFamily_{DeleteFromFamily: &bigtablepb.Mutation_DeleteFromFamily{FamilyName: c.Family}}}
	}
	return &bigtablepb.Mutation{Mutation: &bigtablepb.Mutation_DeleteFromRow_{DeleteFromRow: &bigtablepb.Mutation_DeleteFromRow{}}}
}

func input(v cells.Value) *bigtablepb.Value {
	if n, ok := v.Int(); ok {
		return &bigtablepb.Value{Kind: &bigtablepb.Value_IntValue{IntValue: n}}
	}
	if s, ok := v.AsString(); ok {
		return &bigtablepb.Value{Kind: &bigtablepb.Value_StringValue{StringValue: s}}
	}
	m := &bigtablepb.Value{Kind: &bigtablepb.Value_BytesValue{BytesValue: AppendValue(nil, v)}}
	SetExact(m, v.Type())
	return m
}

func rawValue(b []byte) *bigtablepb.Value {
	return &bigtablepb.Value{Kind: &bigtablepb.Value_RawValue{RawValue: b}}
}

func rawTimestamp(t cells.Timestamp) *bigtablepb.Value {
	return &bigtablepb.Value{Kind: &bigtablepb.Value_RawTimestampMicros{RawTimestampMicros: int64(t)}}
}
