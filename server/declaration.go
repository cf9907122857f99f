package server

import (
	"maps"
	"slices"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/smolwc/smolwc/schema"
)

// declaration is a table as the schema has it.
func declaration(stored string, families map[string]*adminpb.ColumnFamily) (schema.Table, error) {
	t := schema.Table{Name: stored, Retention: schema.Lazy}
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f, err := familyOf(name, families[name])
		if err != nil {
			return t, err
		}
		t.Families = append(t.Families, f)
	}
	return t, nil
}

func familyOf(name string, m *adminpb.ColumnFamily) (f schema.Family, err error) {
	if err := schema.CheckFamilyName(name); err != nil {
		return f, invalid("column family: %v", err)
	}
	f.Name = name
	if f.Type, f.Aggregate, err = typeOf(m.GetValueType()); err != nil {
		return f, invalid("column family %q: %s", name, statusText(err))
	}
	if f.GC, err = ruleOf(m.GetGcRule()); err != nil {
		return f, invalid("column family %q: %s", name, statusText(err))
	}
	return f, nil
}

// changeStreamOf is for how long a configuration has changes kept; nil is not at all.
func changeStreamOf(c *adminpb.ChangeStreamConfig) (time.Duration, error) {
	if c == nil {
		return 0, nil
	}
	if c.GetRetentionPeriod().CheckValid() != nil {
		return 0, invalid("change_stream_config.retention_period is missing or invalid")
	}
	d := c.GetRetentionPeriod().AsDuration()
	if err := schema.CheckChangeStream(d); err != nil {
		return 0, invalid("change_stream_config.retention_period: %v", err)
	}
	return d, nil
}

func changeStreamConfig(d time.Duration) *adminpb.ChangeStreamConfig {
	if d == 0 {
		return nil
	}
	return &adminpb.ChangeStreamConfig{RetentionPeriod: durationpb.New(d)}
}
