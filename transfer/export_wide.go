package transfer

import (
	"bytes"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
)

// wideText is plainText for other programs, which do not distinguish NaNs.
func wideText(v cells.Value) string {
	if bits, width, ok := nanBits(v); ok && isUsualNaN(bits, width) {
		return "NaN"
	}
	return plainText(v)
}

// textWide writes the wide form as CSV or JSON lines: text without escapes of its own,
// for other programs, and bytes in an encoding.
type textWide struct {
	textOut
	columns []wideColumn
	json    bool
	code    code // of bytes
	keyCode code // of row keys, in CSV
}

func (t *textWide) begin(w io.Writer) error {
	t.w = w
	if t.json {
		return nil
	}
	header := []string{rowField + suffixes[t.keyCode]}
	for _, c := range t.columns {
		header = append(header, c.name())
	}
	return writeCSV(w, header)
}

func writeCSV(w io.Writer, record []string) error {
	out := csv.NewWriter(w)
	if err := out.Write(record); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func (t *textWide) encode(c *chunk) (encoded, error) {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	record := make([]string, 1+len(t.columns))
	err := c.eachRow(t.columns, func(key string, row []*cells.Cell) error {
		if t.json {
			b.Write(t.appendObject(nil, key, row))
			return nil
		}
		if t.keyCode == noCode && !utf8.ValidString(key) {
			return &rawKeyError{key: key}
		}
		record[0] = t.keyCode.encode(key)
		for i, cell := range row {
			record[1+i] = ""
			if cell == nil {
				continue
			}
			raw, isRaw := rawText(cell.Value)
			if record[1+i] = t.columns[i].code.encode(raw); !isRaw {
				record[1+i] = wideText(cell.Value)
			}
		}
		return out.Write(record)
	})
	if err != nil {
		return nil, err
	}
	out.Flush()
	return b.Bytes(), out.Error()
}

func (t *textWide) appendObject(b []byte, key string, row []*cells.Cell) []byte {
	b = appendJSONText(append(b, '{'), rowField, key, t.code)
	for i, cell := range row {
		if cell == nil {
			continue
		}
		c := &t.columns[i]
		b = append(appendJSONString(append(b, ','), c.name()), ':')
		if raw, ok := cell.Value.AsBytes(); ok {
			b = append(append(append(b, '"'), c.code.encode(string(raw))...), '"')
			continue
		}
		b = appendJSONValue(b, cell.Value, wideText)
	}
	return append(b, "}\n"...)
}

// textRows writes a JSON object for each row, with a member for each of its columns.
type textRows struct {
	textOut
	code code // of values of type bytes
}

func (t *textRows) begin(w io.Writer) error {
	t.w = w
	return nil
}

func (t *textRows) encode(c *chunk) (encoded, error) {
	b := make([]byte, 0, c.size+32*len(c.cells))
	for from, to := 0, 0; from < len(c.cells); from = to {
		for to < len(c.cells) && c.keys[to] == c.keys[from] {
			to++
		}
		row := c.cells[from:to]
		if err := t.checkNames(c.keys[from], row); err != nil {
			return nil, err
		}
		b = appendJSONText(append(b, '{'), rowField, c.keys[from], t.code)
		for i := range row {
			b = t.appendMember(append(b, ','), &row[i])
		}
		b = append(b, "}\n"...)
	}
	return b, nil
}

// checkNames refuses a row in which a column of type bytes is, with the suffix, named as
// another column.
func (t *textRows) checkNames(key string, row []cells.Cell) error {
	type column struct{ family, qualifier string }
	var raw map[column]bool // the columns of type bytes
	for i := range row {
		c := &row[i]
		start, ends := strings.CutSuffix(c.Qualifier, suffixes[t.code])
		if !ends || c.Value.Type() == cells.TypeBytes {
			continue
		}
		if raw == nil { // few rows need it
			raw = map[column]bool{}
			for i := range row {
				if row[i].Value.Type() == cells.TypeBytes {
					raw[column{row[i].Family, row[i].Qualifier}] = true
				}
			}
		}
		if raw[column{c.Family, start}] {
			other := map[code]string{hexCode: "base64", base64Code: "hex"}[t.code]
			return specErrorf("wide", "row %s: the bytes of %s would have the name of another column, %s; write bytes=%s, or name the columns",
				quote(key), quote(c.Family+":"+start), quote(c.Family+":"+c.Qualifier), other)
		}
	}
	return nil
}

// appendMember appends the newest cell of a column. The name of a qualifier that is not
// UTF-8 is escaped, and so is one with a backslash: no two qualifiers have one name.
func (t *textRows) appendMember(b []byte, c *cells.Cell) []byte {
	qualifier := c.Qualifier
	if !utf8.ValidString(qualifier) || strings.Contains(qualifier, `\`) {
		qualifier = string(appendEscaped(nil, qualifier))
	}
	name := c.Family + ":" + qualifier
	if raw, ok := c.Value.AsBytes(); ok {
		b = append(appendJSONString(b, name+suffixes[t.code]), ':')
		return appendJSONString(b, t.code.encode(string(raw)))
	}
	b = append(appendJSONString(b, name), ':')
	if n, ok := c.Value.Int(); ok && n >= -1<<53 && n <= 1<<53 {
		return strconv.AppendInt(b, n, 10)
	}
	return appendJSONValue(b, c.Value, wideText)
}
