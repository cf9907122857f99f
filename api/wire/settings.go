package wire

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/smolwc/smolwc/schema"
)

// Bigtable's tables have no key format, no retention and no order of families. smolwc's
// client and server have a field for that.

const settingsField protowire.Number = 64006 // of a Table: key format, retention, names of families

// SetSettings puts the settings of a table into its message.
func SetSettings(m *adminpb.Table, t *schema.Table) {
	names := make([]string, len(t.Families))
	for i := range t.Families {
		names[i] = t.Families[i].Name
	}
	b := protowire.AppendVarint(nil, uint64(t.KeyFormat))
	b = protowire.AppendVarint(b, uint64(t.Retention))
	b = append(b, strings.Join(names, ",")...)
	r := m.ProtoReflect()
	r.SetUnknown(protowire.AppendBytes(protowire.AppendTag(r.GetUnknown(), settingsField, protowire.BytesType), b))
}

// TakeSettings gives a table the settings in its message, if there are any.
func TakeSettings(m *adminpb.Table, t *schema.Table) error {
	var err error
	EachField(m.ProtoReflect().GetUnknown(), func(f Field) bool {
		if f.Number != settingsField || f.Kind != protowire.BytesType {
			return true
		}
		key, n := protowire.ConsumeVarint(f.Content)
		retention, k := protowire.ConsumeVarint(f.Content[max(n, 0):])
		if n < 0 || k < 0 || key > uint64(schema.TupleKeys) || retention > uint64(schema.Lazy) {
			err = Invalid("the settings of table %q are not ones that this version knows", t.Name)
			return false
		}
		t.KeyFormat, t.Retention = schema.KeyFormat(key), schema.Enforcement(retention)
		places := map[string]int{}
		for name := range strings.SplitSeq(string(f.Content[n+k:]), ",") {
			places[name] = len(places) - math.MaxInt32 // names that are not there, at 0, come last
		}
		slices.SortStableFunc(t.Families, func(a, b schema.Family) int { return cmp.Compare(places[a.Name], places[b.Name]) })
		return false
	})
	return err
}
