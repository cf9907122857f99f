package parquetrows

import (
	"fmt"

	meta "github.com/parquet-go/parquet-go/format"
)

// A leaf is a column of values in a file.
type leaf struct {
	*meta.SchemaElement
	index          int // in each row group
	maxRep, maxDef int // the highest repetition and definition level
}

// A schemaWalk goes over the elements of a schema, which lists each group before its
// members.
type schemaWalk struct {
	rest   []meta.SchemaElement
	leaves int
}

// fieldsOf returns the fields of a file. The root's kind, apart from a group, does not
// matter: some writers give it a type.
func fieldsOf(schema []meta.SchemaElement) (fields []field, err error) {
	if len(schema) == 0 {
		return nil, fmt.Errorf("%w: it has no schema", errFooter)
	}
	w := schemaWalk{rest: schema[1:]}
	for range schema[0].NumChildren.V {
		if len(w.rest) == 0 {
			return nil, fmt.Errorf("%w: its schema ends early", errFooter)
		}
		of := field{name: w.rest[0].Name}
		if of.nested, err = w.element(&of.leaves, leaf{}); err != nil {
			return nil, err
		}
		fields = append(fields, of)
	}
	if len(w.rest) > 0 {
		return nil, fmt.Errorf("%w: its schema has %d elements too many", errFooter, len(w.rest))
	}
	return fields, nil
}

// element adds the leaves of the next element, and reports whether it is a list or a group.
// in gives the levels of the group around it.
func (w *schemaWalk) element(to *[]leaf, in leaf) (nested bool, err error) {
	if len(w.rest) == 0 || in.maxDef > thriftDepth {
		return false, fmt.Errorf("%w: its schema ends early, or is too deep", errFooter)
	}
	e := &w.rest[0]
	w.rest = w.rest[1:]
	at := leaf{SchemaElement: e, index: w.leaves, maxRep: in.maxRep, maxDef: in.maxDef}
	switch e.RepetitionType.V {
	case meta.Required:
	case meta.Optional:
		at.maxDef++
	case meta.Repeated:
		at.maxDef++
		at.maxRep++
	default:
		return false, fmt.Errorf("%w: field %s repeats in an unknown way", errFooter, quote(e.Name))
	}
	if e.NumChildren.V > 0 || !e.Type.Valid {
		for range e.NumChildren.V {
			if _, err := w.element(to, at); err != nil {
				return true, err
			}
		}
		return true, nil
	}
	if e.Type.V < meta.Boolean || e.Type.V > meta.FixedLenByteArray || e.TypeLength.V < 0 {
		return false, fmt.Errorf("%w: field %s has a type that does not exist", errFooter, quote(e.Name))
	}
	w.leaves++
	*to = append(*to, at)
	return at.maxRep > 0, nil
}
