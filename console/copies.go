package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/server"
)

// A copied is the choice of rows in another language.
type copied struct{ Name, Text string }

// copies are the forms of a scan for the shell, and as far as they can be said so in SQL, in
// Go, in Python and for curl. The last two know neither conditions, times nor the reverse.
func (v *visit) copies(st *ql.Scan) []copied {
	all := []copied{{"Shell", ql.Print(st)}}
	add := func(name, text string) {
		if text != "" {
			all = append(all, copied{name, text})
		}
	}
	add("SQL", asSQL(st))
	add("Go", asGo(st))
	if saysAll(st) {
		add("Python", v.asPython(st))
		add("curl", v.asCurl(st))
	}
	return all
}

// copiesOf are the forms of a statement in the box in other languages.
func (v *visit) copiesOf(text string) []copied {
	st, err := v.env().Parse(lex.Source{Text: text, Pos: lex.Pos{Line: 1, Col: 1}})
	if err != nil {
		return nil
	}
	switch st := st.(type) {
	case *ql.Scan:
		if isOfForm(st) {
			return v.copies(st)[1:]
		}
	case *ql.Select:
		if program := v.queryAsPython(st.Text); program != "" && !isExplain(st.Text) {
			return []copied{{"Python", program}}
		}
	}
	return nil
}

// isOfForm reports whether a scan is one that the form of a table could make: only those are
// said in Go and in SQL.
func isOfForm(st *ql.Scan) bool {
	for _, c := range st.Columns {
		if c.Kind != ql.ColumnExact && c.Kind != ql.ColumnFamily {
			return false
		}
	}
	return st.Regex == nil && st.Sample == 0 && len(st.Keys) == 0 && st.After == "" && !st.TuplePrefix && !st.KeysOnly && st.Offset == 0 && st.Page == nil && st.CellsPerRow == 0 && st.Versions >= 0 && st.Limit >= 0
}

// saysAll reports whether a scan has only what Python's client and the JSON API know.
func saysAll(st *ql.Scan) bool {
	return len(st.Where) == 0 && st.Since == nil && st.Until == nil && !st.Reverse
}

// asSQL is the query with the same rows; "" where SQL would mean something else: it knows no
// types of cells, and no regular expressions of statements.
func asSQL(st *ql.Scan) string {
	if len(st.Where) > 0 || st.Since != nil || st.Until != nil || st.Versions > 1 || st.Reverse {
		return ""
	}
	columns := []string{"_key"}
	for _, c := range st.Columns {
		if c.Kind == ql.ColumnFamily {
			columns = append(columns, "`"+c.Family+"`")
		} else {
			columns = append(columns, "`"+c.Family+"`["+sqlText(c.Qualifier)+"] as "+sqlName(c))
		}
	}
	if len(st.Columns) == 0 {
		columns = []string{"*"}
	}
	text := "select " + strings.Join(columns, ", ") + " from `" + st.Table.Text + "`"
	var terms []string
	if st.Prefix != "" {
		terms = append(terms, "starts_with(_key, "+sqlText(st.Prefix)+")")
	}
	if st.Start != "" {
		terms = append(terms, "_key >= "+sqlText(st.Start))
	}
	if st.End != "" {
		terms = append(terms, "_key < "+sqlText(st.End))
	}
	if len(terms) > 0 {
		text += " where " + strings.Join(terms, " and ")
	}
	if text += " order by _key"; st.Limit > 0 {
		text += fmt.Sprintf(" limit %d", st.Limit)
	}
	return text
}

// sqlText is a text as bytes in SQL.
func sqlText(text string) string {
	var b strings.Builder
	b.WriteString("b'")
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}

// sqlName is the name of a column of a result.
func sqlName(c ql.Column) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, c.Family+"_"+c.Qualifier)
	return "`" + name + "`"
}

// asGo is the call of [client.Table.ReadRows], or of the table of a database, that reads the
// same. Conditions are given as comments: their values have the types of the cells.
func asGo(st *ql.Scan) string {
	var opts []string
	add := func(format string, args ...any) { opts = append(opts, fmt.Sprintf(format, args...)) }
	if st.Prefix != "" {
		add("read.Prefix(%q)", st.Prefix)
	}
	if st.Start+st.End != "" {
		add("read.Range(%q, %q)", st.Start, st.End)
	}
	for _, c := range st.Columns {
		if c.Kind == ql.ColumnFamily {
			add("read.Family(%q)", c.Family)
		} else {
			add("read.Column(%q, %q)", c.Family, c.Qualifier)
		}
	}
	add("read.Versions(%d)", max(1, st.Versions))
	if st.Reverse {
		add("read.Reverse()")
	}
	if st.Limit > 0 {
		add("read.Limit(%d)", st.Limit)
	}
	text := fmt.Sprintf("for row, err := range db.Table(%q).ReadRows(ctx,\n\t%s,\n) {\n\tif err != nil {\n\t\treturn err\n\t}\n\t…\n}", st.Table.Text, strings.Join(opts, ",\n\t"))
	if len(st.Where) > 0 || st.Since != nil || st.Until != nil {
		text = "// Also give the conditions, as read.Where and read.TimeRange, of\n// " + printable(ql.Print(st)) + "\n" + text
	}
	return text
}

// python is a program of Bigtable's client for Python, whose body has a client; "" if that
// cannot reach the server: to an emulator it speaks without TLS and tokens.
func (v *visit) python(imports, body string) string {
	o := v.console.options
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil || v.token != "" {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() { // as the browser reaches it
		host = hostOf(v.r.Host)
	}
	project, _ := instanceOf(o.Instance)
	return fmt.Sprintf(`# pip install google-cloud-bigtable
import os

os.environ.setdefault("BIGTABLE_EMULATOR_HOST", %q)
from google.cloud.bigtable.data import %s

with BigtableDataClient(project=%q) as client:
%s`, net.JoinHostPort(host, port), imports, project, body)
}

// hostOf is the name of a host without a port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// instanceOf is the project and the instance of a name.
func instanceOf(name string) (project, instance string) {
	if name == "" {
		name = server.DefaultInstance
	}
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return "", ""
	}
	return parts[1], parts[3]
}

// asPython reads the rows of a scan that saysAll.
func (v *visit) asPython(st *ql.Scan) string {
	var args []string
	start, end := st.Start, st.End
	if st.Prefix != "" {
		start, end = st.Prefix, afterPrefix(st.Prefix)
	}
	imports := "BigtableDataClient, ReadRowsQuery, row_filters"
	if start+end != "" {
		imports = "BigtableDataClient, ReadRowsQuery, RowRange, row_filters"
		bounds := "start_key=" + pythonBytes(start)
		if end != "" {
			bounds += ", end_key=" + pythonBytes(end)
		}
		args = append(args, "row_ranges=[RowRange("+bounds+")]")
	}
	if st.Limit > 0 {
		args = append(args, fmt.Sprintf("limit=%d", st.Limit))
	}
	filter := fmt.Sprintf("row_filters.CellsColumnLimitFilter(%d)", max(1, st.Versions))
	if columns := pythonColumns(st.Columns); columns != "" {
		filter = "row_filters.RowFilterChain([" + columns + ", " + filter + "])"
	}
	args = append(args, "row_filter="+filter)
	_, instance := instanceOf(v.console.options.Instance)
	return v.python(imports, fmt.Sprintf(`    query = ReadRowsQuery(
        %s,
    )
    for row in client.get_table(%q, %q).read_rows(query):
        for cell in row:  # values are bytes: a number is big-endian
            print(row.row_key, cell.family, cell.qualifier, cell.timestamp_micros, cell.value)
`, strings.Join(args, ",\n        "), instance, st.Table.Text))
}

// pythonColumns is the filter of some columns; "" for all.
func pythonColumns(columns []ql.Column) string {
	var all []string
	for _, c := range columns {
		if c.Kind == ql.ColumnFamily {
			all = append(all, fmt.Sprintf("row_filters.FamilyNameRegexFilter(%q)", strings.ReplaceAll(c.Family, ".", `\.`)))
			continue
		}
		q := pythonBytes(c.Qualifier)
		all = append(all, fmt.Sprintf("row_filters.ColumnRangeFilter(%q, start_qualifier=%s, end_qualifier=%s)", c.Family, q, q))
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return "row_filters.RowFilterUnion([" + strings.Join(all, ", ") + "])"
}

// afterPrefix is the first key after all that begin with a prefix; "" for none.
func afterPrefix(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// pythonBytes is a text as bytes in Python.
func pythonBytes(text string) string {
	return `b"` + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(sqlText(text), "b'"), "'"), `\x27`, `'`), `"`, `\x22`) + `"`
}

// queryAsPython runs a query in SQL.
func (v *visit) queryAsPython(text string) string {
	quoted := fmt.Sprintf("%+q", text)
	if strings.Contains(text, "\n") && !strings.ContainsAny(text, "\\\r") && !strings.Contains(text, `"""`) && !strings.HasSuffix(text, `"`) && utf8.ValidString(text) {
		quoted = `"""` + text + `"""`
	}
	_, instance := instanceOf(v.console.options.Instance)
	return v.python("BigtableDataClient", fmt.Sprintf(`    for row in client.execute_query(%s, %q):
        print([value for _, value in row.fields])
`, quoted, instance))
}

// asCurl is the call of the JSON API with the rows of a scan that saysAll; "" where that has
// no word for a column.
func (v *visit) asCurl(st *ql.Scan) string {
	type rowRange struct {
		Start      string `json:"start,omitempty"`
		StartBytes []byte `json:"start_bytes,omitempty"`
		End        string `json:"end,omitempty"`
		EndBytes   []byte `json:"end_bytes,omitempty"`
	}
	var body struct {
		Row struct {
			Prefix      *string   `json:"prefix,omitempty"`
			PrefixBytes []byte    `json:"prefix_bytes,omitempty"`
			Range       *rowRange `json:"range,omitempty"`
			Limit       int       `json:"limit,omitempty"`
		} `json:"row"`
		Column struct {
			MultiKey  []string `json:"multi_key,omitempty"`
			CellLimit int      `json:"cell_limit"`
		} `json:"column"`
	}
	key := func(key string, text *string, other *[]byte) {
		if utf8.ValidString(key) {
			*text = key
		} else {
			*other = []byte(key)
		}
	}
	if st.Start+st.End != "" {
		body.Row.Range = &rowRange{}
		key(st.Start, &body.Row.Range.Start, &body.Row.Range.StartBytes)
		key(st.End, &body.Row.Range.End, &body.Row.Range.EndBytes)
	} else if prefix := ""; true {
		if key(st.Prefix, &prefix, &body.Row.PrefixBytes); body.Row.PrefixBytes == nil {
			body.Row.Prefix = &prefix
		}
	}
	body.Row.Limit, body.Column.CellLimit = st.Limit, max(1, st.Versions)
	for _, c := range st.Columns {
		switch {
		case c.Kind == ql.ColumnFamily:
			body.Column.MultiKey = append(body.Column.MultiKey, c.Family+":")
		case c.Qualifier == "" || !utf8.ValidString(c.Qualifier): // family: is the whole family
			return ""
		default:
			body.Column.MultiKey = append(body.Column.MultiKey, c.Family+":"+c.Qualifier)
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return ""
	}
	auth := ""
	if v.token != "" {
		auth = ` -H "Authorization: Bearer $SMOLWC_TOKEN"`
	}
	scheme := "http"
	if v.r.TLS != nil || v.r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	return "curl -s" + auth + " " + quoted(scheme+"://"+v.r.Host+"/v1/table/"+st.Table.Text+"/scan") + " -d " + quoted(escaped(strings.TrimSpace(text.String())))
}

// escaped is JSON with escapes for characters that cannot be seen.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
