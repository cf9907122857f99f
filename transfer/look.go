package transfer

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/excerpt"
)

// A FieldReport is a dry run's report of a column, or of a field that makes no column.
type FieldReport struct {
	Field             string // "" of a column: see Family
	Family, Qualifier string // the column
	// Type is the type of the values that the import writes; TypeAny in the report of a
	// field.
	Type cells.Type
	// Fits is the narrowest type that takes all values and loses nothing of them: bool,
	// i64, f64, else string, or bytes for text that is not UTF-8; for other types of values
	// the type itself. TypeAny: the field contains lists or objects.
	Fits cells.Type
	// Near is a type narrower than Fits that takes the same values, although an export
	// would write some otherwise, as Respelled, which is shortened: 1.50 and 1e5 as f64, True
	// as bool. TypeAny: no such type exists.
	Near      cells.Type
	Respelled string
	Values    int64
	Example   string // the first value, shortened
	// Many says that the report is of all members of an object, to which Field leads, or
	// of all columns of a family: there are too many for reports of their own.
	Many bool

	of string // the object or family
	// The kinds of the values: text, values of a type (TypeAny: no such values), and lists,
	// objects, or values of several types.
	fits  fits
	typed cells.Type
	mixed bool
}

// maxReported bounds the fields and columns of a report.
const maxReported = 1000

// maxMembers is from how many members of an object, or columns of a family, on they have
// one report.
const maxMembers = 50

// A looker sees the values of a dry run.
type looker struct {
	na      string // text that is no value
	index   map[[2]string]int
	reports []FieldReport
	members map[string]int // of objects and families, by the path or name
}

// see notes a value. Only text can fit another type.
func (l *looker) see(r FieldReport, text string, isText bool) {
	if isText && l.na != "" && text == l.na {
		return
	}
	if l.members[r.of] > maxMembers {
		r.Field, r.Qualifier, r.Many = r.of[:len(r.of)-len(r.Family)], "", true
	}
	key := r.key()
	i, known := l.index[key]
	if !known {
		if len(l.reports) == maxReported {
			return
		}
		if l.index == nil {
			l.index, l.members = map[[2]string]int{}, map[string]int{}
		}
		if r.of != "" && !r.Many {
			if l.members[r.of]++; l.members[r.of] > maxMembers {
				l.fold(r.of)
				l.see(r, text, isText)
				return
			}
		}
		i = len(l.reports)
		l.index[key] = i
		r.Example = excerpt.Of(strings.Clone(text))
		l.reports = append(l.reports, r)
	}
	f := &l.reports[i]
	f.Values++
	switch {
	case isText:
		f.fits.add(text)
	case r.Type == cells.TypeAny || f.typed != cells.TypeAny && f.typed != r.Type:
		f.mixed = true
	default:
		f.typed = r.Type
	}
}

func (l *looker) result() []FieldReport {
	for i := range l.reports {
		f := &l.reports[i]
		switch {
		case f.mixed: // no type fits
		case !f.fits.seen:
			f.Fits = f.typed
		case f.typed != cells.TypeAny:
			f.Fits = wider(f.fits.lossless(), f.typed)
		default:
			f.Fits = f.fits.lossless()
			f.Near, f.Respelled = f.fits.near()
		}
		f.of, f.fits, f.typed, f.mixed = "", fits{}, cells.TypeAny, false
	}
	return l.reports
}

func (r *FieldReport) key() [2]string {
	if r.Many {
		return [2]string{r.Family, r.Field + "\x00"}
	}
	return [2]string{r.Family, r.Qualifier + r.Field}
}

// fold makes one report for all members of an object, or all columns of a family.
func (l *looker) fold(of string) {
	var all *FieldReport
	l.reports = slices.DeleteFunc(l.reports, func(f FieldReport) bool {
		if f.of != of {
			return false
		}
		if all == nil {
			all = &FieldReport{Family: f.Family, Field: of[:len(of)-len(f.Family)], Type: f.Type, Example: f.Example, Many: true, of: of}
		}
		all.Values += f.Values
		if all.Type != f.Type {
			all.Type = cells.TypeAny
		}
		all.fits.join(f.fits)
		all.mixed = all.mixed || f.mixed
		if all.typed == cells.TypeAny {
			all.typed = f.typed
		} else if f.typed != cells.TypeAny {
			all.typed = wider(all.typed, f.typed)
		}
		return true
	})
	l.reports = append(l.reports, *all)
	clear(l.index)
	for i := range l.reports {
		l.index[l.reports[i].key()] = i
	}
}

// wider is a type that takes the values of both.
func wider(a, b cells.Type) cells.Type {
	switch {
	case a == b:
		return a
	case a == cells.TypeI64 && b == cells.TypeF64 || a == cells.TypeF64 && b == cells.TypeI64:
		return cells.TypeF64
	}
	return cells.TypeString
}

// cells notes the cells of a row.
func (l *looker) cells(r row) {
	for _, c := range r.cells {
		text, isText := c.Value.AsString()
		if !isText {
			text = c.Value.String()
		}
		l.see(FieldReport{Family: c.Family, Qualifier: c.Qualifier, Type: c.Value.Type(), of: c.Family}, text, isText)
	}
}
