package transfer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/cells"
)

// A scannedCell is a cell of such a row.
type scannedCell struct {
	Column *string          `json:"c"`
	Base64 *string          `json:"c_b64"`
	Type   string           `json:"t"`
	Value  *json.RawMessage `json:"v"`
	Bytes  *string          `json:"v_b64"`
	Time   *json.Number     `json:"ts"`
}

// scannedRow makes the cells of a row that scan printed.
func (c *cellForm) scannedRow(rec *record) (key string, made []cells.Cell, bad *LineError) {
	if key, bad = c.key(rec); bad != nil {
		return "", nil, bad
	}
	i := c.fields[scannedCells]
	f := rec.fields[i]
	if f.state != nested || f.text[0] != '[' {
		return "", nil, rec.fault(i, "is no list of cells, as scan prints it")
	}
	var all []scannedCell
	if err := json.Unmarshal([]byte(f.text), &all); err != nil {
		return "", nil, rec.fault(i, "is no list of cells, as scan prints it: %v", err)
	}
	for n, in := range all {
		cell, problem := in.cell()
		if problem != "" {
			return "", nil, rec.fault(i, "cell %d %s", n+1, problem)
		}
		if bad := c.check(rec, &cell, cell.Value.Type()); bad != nil {
			return "", nil, bad
		}
		made = append(made, cell)
	}
	return key, made, nil
}

func (in *scannedCell) cell() (cell cells.Cell, problem string) {
	var column string
	switch {
	case in.Column != nil:
		column = *in.Column
	case in.Base64 != nil:
		raw, err := base64.StdEncoding.DecodeString(*in.Base64)
		if err != nil {
			return cell, "has a column that is not base64"
		}
		column = string(raw)
	}
	var ok bool
	if cell.Family, cell.Qualifier, ok = strings.Cut(column, ":"); !ok {
		return cell, `has no column "c", as meta:model`
	}
	if n := len(cell.Qualifier); n > cells.MaxQualifier {
		return cell, fmt.Sprintf("has a qualifier of %d bytes; a qualifier has at most %d", n, cells.MaxQualifier)
	}
	typ, err := cells.ParseType(in.Type)
	if err != nil || typ == cells.TypeAny {
		return cell, fmt.Sprintf("has the unknown type %s", quote(in.Type))
	}
	if in.Time == nil {
		return cell, `has no time "ts"`
	}
	if cell.Timestamp, problem = parseTimestamp(in.Time.String()); problem != "" {
		return cell, "has a " + problem
	}
	text, problem := in.text()
	if problem == "" {
		cell.Value, problem = convert(text, typ)
	}
	return cell, problem
}

// text is the value as text: of a number as it is written, of bytes decoded.
func (in *scannedCell) text() (text, problem string) {
	switch {
	case in.Bytes != nil:
		raw, err := base64.StdEncoding.DecodeString(*in.Bytes)
		if err != nil {
			return "", "has a value that is not base64"
		}
		return string(raw), ""
	case in.Value == nil:
		return "", `has no value "v"`
	}
	raw := string(*in.Value)
	if raw[0] != '"' {
		if raw[0] == '{' || raw[0] == '[' || raw == "null" {
			return "", "has an object, a list or null as its value"
		}
		return raw, ""
	}
	if err := json.Unmarshal(*in.Value, &text); err != nil {
		return "", "has a value that is no text"
	}
	switch text {
	case "Infinity":
		text = "+Inf"
	case "-Infinity":
		text = "-Inf"
	}
	return text, ""
}
