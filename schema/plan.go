package schema

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A ChangeKind is the kind of a [Change].
type ChangeKind uint8

// The kinds of changes.
const (
	CreateTable ChangeKind = iota + 1
	AddFamily
	SetType
	SetRetention
	DropFamily
	DropTable
	SetAggregate
	SetEnforcement
	SetKeyFormat
	SetTuning
	SetChangeStream
	// DeleteTable drops a table that the database keeps for a while: UndeleteTable
	// brings the table back, and PurgeTable frees its space. PurgeTable is about all
	// deleted tables of the name; if there is no such table, it does nothing.
	DeleteTable
	UndeleteTable
	PurgeTable
)

// String is the kind in words, "create table".
func (k ChangeKind) String() string {
	names := [...]string{"no change", "create table", "add family", "set type", "set retention", "drop family", "drop table", "set aggregate", "set enforcement", "set key format", "set tuning", "set change stream", "delete table", "undelete table", "purge table"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("change(%d)", uint8(k))
}

// A Change is one step from one schema to another. Which fields are set depends
// on Kind.
type Change struct {
	Kind ChangeKind
	// Table is the name of the table.
	Table string
	// Family is the name of the family; empty for changes of tables.
	Family string
	// Families are the families of the table that CreateTable creates or DropTable
	// drops. For UndeleteTable the database fills them in, with the fields of
	// CreateTable.
	Families []Family
	// Old is the family as it was, for SetType, SetAggregate, SetRetention,
	// SetTuning and DropFamily.
	Old Family
	// New is the family as it is declared, for AddFamily, SetType, SetAggregate,
	// SetRetention and SetTuning. SetType applies only New.Type, SetAggregate
	// New.Aggregate, SetRetention New.GC, SetTuning New.Tuning.
	New Family
	// OldRetention and NewRetention are the table's, for SetEnforcement; CreateTable
	// sets only NewRetention.
	OldRetention, NewRetention Enforcement
	// OldKeyFormat and NewKeyFormat are the table's, for SetKeyFormat; CreateTable sets
	// only NewKeyFormat.
	OldKeyFormat, NewKeyFormat KeyFormat
	// OldChangeStream and NewChangeStream are the table's, for SetChangeStream;
	// CreateTable sets only NewChangeStream.
	OldChangeStream, NewChangeStream time.Duration
}

// Destructive reports whether the change drops data: DropFamily, DropTable,
// DeleteTable and PurgeTable. Shorter retention also hides cells, but does not count
// here.
func (c Change) Destructive() bool {
	return c.Kind == DropFamily || c.Kind == DropTable || c.Kind == DeleteTable || c.Kind == PurgeTable
}

// String is the change on one line: "+ family fleet/time type=i32".
func (c Change) String() string {
	switch c.Kind {
	case CreateTable:
		s := fmt.Sprintf("+ table %s%s", c.Table, familyList(c.Families))
		if c.NewRetention != Exact {
			s += " retention " + c.NewRetention.String()
		}
		if c.NewKeyFormat != PlainKeys {
			s += " key_format " + c.NewKeyFormat.String()
		}
		if c.NewChangeStream != 0 {
			s += " change_stream " + FormatChangeStream(c.NewChangeStream)
		}
		return s
	case SetChangeStream:
		return fmt.Sprintf("~ table %s change_stream %s -> %s", c.Table, FormatChangeStream(c.OldChangeStream), FormatChangeStream(c.NewChangeStream))
	case SetKeyFormat:
		return fmt.Sprintf("~ table %s key_format %v -> %v", c.Table, c.OldKeyFormat, c.NewKeyFormat)
	case SetEnforcement:
		return fmt.Sprintf("~ table %s retention %v -> %v", c.Table, c.OldRetention, c.NewRetention)
	case AddFamily:
		return fmt.Sprintf("+ family %s/%v", c.Table, c.New)
	case SetType:
		return fmt.Sprintf("~ family %s/%s type %v -> %v", c.Table, c.Family, c.Old.Type, c.New.Type)
	case SetAggregate:
		return fmt.Sprintf("~ family %s/%s aggregate %v -> %v", c.Table, c.Family, c.Old.Aggregate, c.New.Aggregate)
	case SetRetention:
		return fmt.Sprintf("~ family %s/%s retention %v -> %v", c.Table, c.Family, c.Old.GC, c.New.GC)
	case SetTuning:
		return fmt.Sprintf("~ family %s/%s tuning %s -> %s", c.Table, c.Family, c.Old.Tuning.orDefault(), c.New.Tuning.orDefault())
	case DropFamily:
		return fmt.Sprintf("- family %s/%s (drops its data)", c.Table, c.Family)
	case DropTable:
		return fmt.Sprintf("- table %s%s (drops its data)", c.Table, familyList(c.Families))
	case DeleteTable:
		return fmt.Sprintf("- table %s (keeps its data for a while)", c.Table)
	case UndeleteTable:
		return fmt.Sprintf("+ table %s, which was deleted", c.Table)
	case PurgeTable:
		return fmt.Sprintf("- deleted table %s (drops its data)", c.Table)
	}
	return c.Kind.String()
}

// familyList is " (families meta, loc)".
func familyList(fs []Family) string {
	var names []string
	for _, f := range fs[:min(len(fs), MaxFamilies)] {
		names = append(names, f.Name)
	}
	if more := len(fs) - MaxFamilies; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	switch len(names) {
	case 0:
		return " (no families)"
	case 1:
		return " (family " + names[0] + ")"
	}
	return " (families " + strings.Join(names, ", ") + ")"
}

// A Plan is the changes that turn a database's schema into a declared one, in an
// order in which they can be made: new things come first, drops last. The zero
// Plan changes nothing.
type Plan struct {
	Changes []Change
}

// Empty reports whether the plan contains no changes.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// Touches reports whether any change of the plan concerns this table.
func (p Plan) Touches(table string) bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Table == table })
}

// Drops reports whether any change of the plan is destructive.
func (p Plan) Drops() bool { return slices.ContainsFunc(p.Changes, Change.Destructive) }

// WithoutDrops is the plan without its destructive changes.
func (p Plan) WithoutDrops() Plan {
	return Plan{Changes: slices.DeleteFunc(slices.Clone(p.Changes), Change.Destructive)}
}

// String prints one line for each change, each ending in a newline; empty for an empty
// plan.
func (p Plan) String() string {
	var b strings.Builder
	for _, c := range p.Changes {
		b.WriteString(c.String() + "\n")
	}
	return b.String()
}

// Apply is the schema that results from existing, which is not changed; nil is an empty
// schema. Tables are sorted by name; new families follow existing ones. If the plan
// does not fit existing, the error names the change and the schema is nil. The result
// is valid when existing and the plan's target schema are.
func (p Plan) Apply(existing *Schema) (*Schema, error) {
	s := existing.Clone()
	if s == nil {
		s = &Schema{}
	}
	for _, c := range p.Changes {
		if err := s.apply(c); err != nil {
			return nil, fmt.Errorf("cannot apply %q: %w", c.String(), err)
		}
	}
	s.sort()
	return s, nil
}

func (s *Schema) apply(c Change) error {
	i := slices.IndexFunc(s.Tables, func(t Table) bool { return t.Name == c.Table })
	if c.Kind == PurgeTable {
		return nil
	}
	if c.Kind == CreateTable || c.Kind == UndeleteTable {
		if i >= 0 {
			return fmt.Errorf("table %s exists already", c.Table)
		}
		if n := len(c.Families); c.Kind == CreateTable && n > MaxFamilies {
			return fmt.Errorf("table %s would have %d families; a table has at most %d", c.Table, n, MaxFamilies)
		}
		s.Tables = append(s.Tables, Table{Name: c.Table, Families: cloneFamilies(c.Families), Retention: c.NewRetention, KeyFormat: c.NewKeyFormat, ChangeStream: c.NewChangeStream})
		return nil
	}
	if i < 0 {
		return fmt.Errorf("there is no table %s", c.Table)
	}
	if c.Kind == DropTable || c.Kind == DeleteTable {
		s.Tables = slices.Delete(s.Tables, i, i+1)
		return nil
	}
	return s.Tables[i].apply(c)
}

func (t *Table) apply(c Change) error {
	switch c.Kind {
	case SetEnforcement:
		t.Retention = c.NewRetention
		return nil
	case SetKeyFormat:
		t.KeyFormat = c.NewKeyFormat
		return nil
	case SetChangeStream:
		t.ChangeStream = c.NewChangeStream
		return nil
	}
	i := slices.IndexFunc(t.Families, func(f Family) bool { return f.Name == c.Family })
	if c.Kind == AddFamily {
		if i >= 0 {
			return fmt.Errorf("table %s has a family %s already", t.Name, c.Family)
		}
		if len(t.Families) >= MaxFamilies {
			return fmt.Errorf("table %s has %d families; a table has at most %d", t.Name, len(t.Families), MaxFamilies)
		}
		t.Families = append(t.Families, c.New.clone())
		return nil
	}
	if i < 0 {
		return fmt.Errorf("table %s has no family %s", t.Name, c.Family)
	}
	switch c.Kind {
	case SetType:
		t.Families[i].Type = c.New.Type
	case SetAggregate:
		t.Families[i].Aggregate = c.New.Aggregate
	case SetRetention:
		t.Families[i].GC = c.New.GC.Clone()
	case SetTuning:
		t.Families[i].Tuning = c.New.Tuning
	case DropFamily:
		t.Families = slices.Delete(t.Families, i, i+1)
	default:
		return fmt.Errorf("%v is not a kind of change", c.Kind)
	}
	return nil
}
