package wire

import (
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/smolwc/smolwc/schema"
)

// Declaration is a table as in the schema, under its name in the database.
func Declaration(stored string, families map[string]*adminpb.ColumnFamily) (schema.Table, error) {
	t := schema.Table{Name: stored, Retention: schema.Lazy}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f, err := FamilyOf(name, families[name])
		if err != nil {
			return t, err
		}
		t.Families = append(t.Families, f)
	}
	return t, nil
}

// FamilyOf is a family as in the schema.
func FamilyOf(name string, m *adminpb.ColumnFamily) (f schema.Family, err error) {
	if err := schema.CheckFamilyName(name); err != nil {
		return f, Invalid("column family: %v", err)
	}
	f.Name = name
	if f.Type, f.Aggregate, err = typeOf(m.GetValueType()); err != nil {
		return f, Invalid("column family %q: %s", name, StatusText(err))
	}
	if f.GC, err = ruleOf(m.GetGcRule()); err != nil {
		return f, Invalid("column family %q: %s", name, StatusText(err))
	}
	return f, nil
}

// ChangeStreamOf is how long a configuration keeps changes; nil keeps no changes.
func ChangeStreamOf(c *adminpb.ChangeStreamConfig) (time.Duration, error) {
	if c == nil {
		return 0, nil
	}
	if c.GetRetentionPeriod().CheckValid() != nil {
		return 0, Invalid("change_stream_config.retention_period is missing or invalid")
	}
	d := c.GetRetentionPeriod().AsDuration()
	if err := schema.CheckChangeStream(d); err != nil {
		return 0, Invalid("change_stream_config.retention_period: %v", err)
	}
	return d, nil
}

// ChangeStreamMessage says how long changes are kept; nil keeps no changes.
func ChangeStreamMessage(d time.Duration) *adminpb.ChangeStreamConfig {
	if d == 0 {
		return nil
	}
	return &adminpb.ChangeStreamConfig{RetentionPeriod: durationpb.New(d)}
}
