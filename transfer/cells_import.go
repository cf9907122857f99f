package transfer

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/schema"
)

// A cellForm reads the long form that [Export] writes: each record is a cell.
type cellForm struct {
	table   schema.Table
	escaped bool // CSV: text contains backslashes
	scanned bool // JSON lines of scan: a record is a row
	listed  bool // CSV of scan: a column is a family and a qualifier, and bytes are base64
	fields  map[string]int
}

// explain names the purpose of a missing field.
func (c *cellForm) explain(err error) error {
	if e, ok := errors.AsType[*SpecError](err); ok && e.Part == "key" {
		return specErrorf("", "%s; without key= and columns= the file has to be one that export wrote, in which each line is a cell", e.Problem)
	}
	return err
}

func (c *cellForm) key(rec *record) (string, *LineError) {
	name := rowField
	if c.scanned || c.listed {
		name = scannedKey
	}
	key, bad := c.text(rec, name)
	if bad == nil && c.listed {
		key, bad = c.word(rec, name, key)
	}
	if n := len(key); bad == nil && (n == 0 || n > cells.MaxRowKey) {
		bad = rec.wrong("has a row key of %d bytes; a row key has 1 to %d", n, cells.MaxRowKey)
	}
	return key, bad
}

func (c *cellForm) cell(rec *record) (cell cells.Cell, bad *LineError) {
	if cell.Family, cell.Qualifier, bad = c.column(rec); bad != nil {
		return cell, bad
	}
	if n := len(cell.Qualifier); n > cells.MaxQualifier {
		return cell, rec.wrong("has a qualifier of %d bytes, at most %d are possible", n, cells.MaxQualifier)
	}
	stamp, bad := c.plain(rec, timestampField)
	if bad != nil {
		return cell, bad
	}
	var problem string
	if cell.Timestamp, problem = parseTimestamp(stamp); problem != "" {
		return cell, rec.wrong("%s", problem)
	}
	name, bad := c.plain(rec, typeField)
	if bad != nil {
		return cell, bad
	}
	typ, err := cells.ParseType(name)
	if err != nil || typ == cells.TypeAny {
		return cell, rec.wrong("has the unknown type %s", quote(name))
	}
	if bad := c.check(rec, &cell, typ); bad != nil {
		return cell, bad
	}
	cell.Value, bad = c.value(rec, typ)
	return cell, bad
}

// column returns the family and the qualifier of a cell.
func (c *cellForm) column(rec *record) (family, qualifier string, bad *LineError) {
	if !c.listed {
		if family, bad = c.plain(rec, familyField); bad == nil {
			qualifier, bad = c.text(rec, qualifierField)
		}
		return family, qualifier, bad
	}
	text, bad := c.plain(rec, listedColumn)
	if bad != nil {
		return "", "", bad
	}
	family, word, ok := strings.Cut(text, ":")
	if !ok {
		return "", "", rec.fault(c.fields[listedColumn], "is %s, and no column; write family:qualifier", quote(text))
	}
	qualifier, bad = c.word(rec, listedColumn, word)
	return family, qualifier, bad
}

// word undoes the quotes of a word that scan prints of unprintable text.
func (c *cellForm) word(rec *record, name, text string) (string, *LineError) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	rest, ok := strings.CutSuffix(text[1:], `"`)
	var b []byte
	for ok && rest != "" {
		if after, is := strings.CutPrefix(rest, `\0`); is {
			b, rest = append(b, 0), after
			continue
		}
		r, wide, after, err := strconv.UnquoteChar(rest, '"')
		switch ok, rest = err == nil, after; {
		case wide:
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, byte(r))
		}
	}
	if !ok {
		return "", rec.fault(c.fields[name], "has quotes or a backslash that nothing was written with")
	}
	return string(b), nil
}

func (c *cellForm) check(rec *record, cell *cells.Cell, typ cells.Type) *LineError {
	f, ok := c.table.Family(cell.Family)
	switch {
	case !ok:
		return rec.wrong("is for family %s, which table %s does not have", quote(cell.Family), c.table.Name)
	case f.Aggregate != schema.NoAggregate:
		return rec.wrong("is for family %s, which aggregates and cannot be set; import it into a family of type i64", cell.Family)
	case f.Type != cells.TypeAny && f.Type != typ:
		return rec.wrong("has type %s, and family %s is declared %s", typ, cell.Family, f.Type)
	}
	return nil
}

func (c *cellForm) plain(rec *record, name string) (string, *LineError) {
	i := c.fields[name]
	f := rec.fields[i]
	switch f.state {
	case absent:
		return "", rec.fault(i, "is missing; a line of this form has all of row, family, qualifier, timestamp, type and value")
	case nested:
		return "", rec.fault(i, "is an object or a list")
	}
	return f.text, nil
}

// text returns a field of any bytes: escaped in CSV, possibly base64 in JSON.
func (c *cellForm) text(rec *record, name string) (string, *LineError) {
	if i, ok := c.fields[name+base64Suffix]; ok && rec.fields[i].state != absent {
		return c.base64(rec, name)
	}
	text, bad := c.plain(rec, name)
	if bad != nil || !c.escaped {
		return text, bad
	}
	text, problem := unescape(text)
	if problem != "" {
		return "", rec.fault(c.fields[name], "%s", problem)
	}
	return text, nil
}

func (c *cellForm) base64(rec *record, name string) (string, *LineError) {
	i := c.fields[name+base64Suffix]
	if rec.fields[c.fields[name]].state != absent {
		return "", rec.fault(i, "is given beside %s; one of them is enough", name)
	}
	raw, err := base64.StdEncoding.DecodeString(rec.fields[i].text)
	if err != nil || rec.fields[i].state == nested {
		return "", rec.fault(i, "is not base64")
	}
	return string(raw), nil
}

func (c *cellForm) value(rec *record, typ cells.Type) (cells.Value, *LineError) {
	name := valueField
	if _, inColumns := c.fields[valueColumn(typ)]; inColumns {
		name = valueColumn(typ)
	}
	var text string
	var bad *LineError
	if typ == cells.TypeString || typ == cells.TypeBytes {
		text, bad = c.text(rec, name)
	} else {
		text, bad = c.plain(rec, name)
	}
	if bad != nil {
		return cells.Value{}, bad
	}
	if c.listed && typ == cells.TypeBytes {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return cells.Value{}, rec.fault(c.fields[name], "is not base64")
		}
		return cells.Bytes(raw), nil
	}
	v, problem := convert(text, typ)
	if problem != "" {
		return v, rec.fault(c.fields[name], "%s", problem)
	}
	return v, nil
}

// The members of a row that scan prints as JSON lines.
const (
	scannedKey   = "key"
	scannedCells = "cells"
)

// The fields of the cells that scan prints in CSV and TSV.
const listedColumn = "column"

var listedFields = []string{scannedKey, listedColumn, timestampField, typeField, valueField}
