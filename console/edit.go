package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// An editForm is the page that writes a statement to change a cell.
type editForm struct {
	Table, Key, Family, Qualifier, Type, Value, At string
	Escaped                                        bool // Value is in quotes, with escapes
	Deletes                                        bool // the statement deletes the column
	Families                                       []string
	Now                                            string // the cell as it is; "" without a cell
	Statement                                      string // "" until the fields are right
	Was                                            string // the cell when the statement was made
	Question                                       string // that the person must answer first
	Change                                         string // the change that the question is about
	Problem                                        string
}

func showEdit(v *visit) error { return v.edit(false) }

func previewEdit(v *visit) error { return v.edit(true) }

func (v *visit) edit(check bool) error {
	t, err := v.table()
	if err != nil {
		return err
	}
	f := editForm{Table: t.Name, Family: v.r.FormValue("family"), Type: v.r.FormValue("type"), At: v.r.FormValue("at"), Escaped: v.r.FormValue("escaped") != ""}
	f.Value = strings.ReplaceAll(v.r.FormValue("value"), "\r\n", "\n") // browsers send this for each line end
	if err := v.fields(map[string]*string{"key": &f.Key, "qualifier": &f.Qualifier}); err != nil {
		return err
	}
	for _, family := range t.Families {
		f.Families = append(f.Families, family.Name)
	}
	family, _ := t.Family(f.Family)
	now, there, err := v.newest(t, f.Key, f.Family, f.Qualifier)
	if err != nil {
		return err
	}
	if there {
		f.Now = described(now)
	}
	switch {
	case !check && v.r.FormValue("delete") != "":
		f.Deletes, f.Statement = true, cellPage{Table: t, Key: f.Key, Family: f.Family, Qualifier: f.Qualifier}.deletion()
	case check:
		if err := v.preview(t, &f, now, there); err != nil {
			f.Problem = err.Error()
		}
	case there && !v.r.Form.Has("value"):
		f.fill(now)
	case f.Type == "" && family != nil && family.Type != cells.TypeAny:
		f.Type = family.Type.String()
	}
	return v.show("edit", "Put a cell", f)
}

// newest returns the newest value of a column of a row.
func (v *visit) newest(t schema.Table, key, family, qualifier string, opts ...read.Option) (value cells.Value, there bool, err error) {
	if _, ok := t.Family(family); !ok || key == "" {
		return value, false, nil
	}
	opts = append(opts, read.Key(key), read.Column(family, qualifier), read.Versions(1))
	for row, err := range v.Table(t.Name).ReadRows(v.r.Context(), opts...) {
		if err != nil {
			return value, false, err
		}
		for c := range row.Cells() {
			return keep(c.Value), true, nil
		}
	}
	return value, false, nil
}

// keep returns a value that lasts longer than its row.
func keep(v cells.Value) cells.Value {
	if s, ok := v.AsString(); ok {
		return cells.String(strings.Clone(s))
	}
	if b, ok := v.AsBytes(); ok {
		return cells.Bytes(bytes.Clone(b))
	}
	return v
}

func described(v cells.Value) string {
	text := v.Type().String() + " " + short(v)
	if n := length(v); n > shortValue {
		text += ", " + humanize.Plural(n, "byte")
	}
	return text
}

// fill shows a value in the form: as it is if a browser sends it back as it is, else in
// quotes with escapes. A value that is too long is left out.
func (f *editForm) fill(v cells.Value) {
	f.Type = v.Type().String()
	text := string(bytesOf(v))
	switch {
	case length(v) > longValue:
		f.Problem = "the value is too long for this form, and is left out"
	case survives(text):
		f.Value = text
	default:
		f.Value, f.Escaped = lex.QuoteText(text), true
	}
}

// survives reports whether a browser shows a text and sends it back unchanged.
func survives(text string) bool {
	return utf8.ValidString(text) && !strings.HasPrefix(text, "\n") && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && !strconv.IsPrint(r)
	})
}

// preview makes the statement of the form, or asks first: whether the cell should get
// another type, or lose its value.
func (v *visit) preview(t schema.Table, f *editForm, now cells.Value, there bool) error {
	value, err := f.value(t, now, there)
	if err != nil {
		return err
	}
	replaced := []cells.Value{}
	if there {
		replaced = append(replaced, now)
	}
	if f.At != "" {
		at, err := parseTimestamp(f.At)
		if err != nil {
			return err
		}
		old, there, err := v.newest(t, f.Key, f.Family, f.Qualifier, read.TimeRange(at, at+1))
		if err != nil {
			return err
		}
		if there {
			replaced = append(replaced, old)
		}
	}
	for _, old := range replaced {
		change, question := changeOf(old, value)
		if change != "" && v.r.FormValue("agreed") != change {
			f.Change, f.Question = change, question
			return nil
		}
	}
	f.Was = stateOf(now, there)
	f.Statement, err = f.statement(value)
	return err
}

// changeOf names what a value would change about a cell beside its value, and asks whether
// it should; "" if there is nothing to ask.
func changeOf(old, value cells.Value) (change, question string) {
	switch from, to := old.Type(), value.Type(); {
	case from != to:
		return from.String() + " " + to.String(), "The cell is " + described(old) + ". Make it " + described(value) + "?"
	case length(value) == 0 && length(old) > 0:
		return "empty " + from.String(), "The cell is " + described(old) + ". Write an empty " + to.String() + " over it?"
	}
	return "", ""
}

// noCell is the state of a cell that is not there.
const noCell = "none"

// stateOf is the type of a cell and a hash of its value, by which a form knows whether somebody else
// has changed the cell since.
func stateOf(v cells.Value, there bool) string {
	if !there {
		return noCell
	}
	sum := sha256.Sum256(bytesOf(v))
	return v.Type().String() + " " + hex.EncodeToString(sum[:8])
}

// value is the value of the form. Without a type it takes the type of the present cell,
// else of the family, else it is text.
func (f *editForm) value(t schema.Table, now cells.Value, there bool) (v cells.Value, err error) {
	family, ok := t.Family(f.Family)
	if !ok {
		return v, errorf("there is no family %s in table %s", nameText(f.Family), t.Name)
	}
	kind := cells.TypeString
	switch {
	case f.Type != "":
		if kind, err = cells.ParseType(f.Type); err != nil {
			return v, err
		}
	case there:
		kind = now.Type()
	case family.Type != cells.TypeAny:
		kind = family.Type
	}
	f.Type = kind.String()
	if family.Type != cells.TypeAny && kind != family.Type {
		return v, errorf("family %s is declared %s, so a cell of it cannot be %s", family.Name, family.Type, kind)
	}
	text := f.Value
	if f.Escaped {
		if !strings.HasPrefix(text, `"`) {
			return v, errors.New(`the value is to have escapes, and so begins and ends with ", as in "a\x00b"`)
		}
		if text, err = unfield("the value", text); err != nil {
			return v, err
		}
	}
	return lex.Literal{Type: kind, Text: text}.ValueAs(kind)
}

// statement is the put of the form.
func (f *editForm) statement(value cells.Value) (string, error) {
	text := "put " + lex.QuoteName(f.Table) + " " + lex.QuoteKey(f.Key) + " " + lex.QuoteColumn(f.Family, f.Qualifier) + "=" + lex.QuoteValue(value)
	if f.At != "" {
		at, err := parseTimestamp(f.At)
		if err != nil {
			return "", err
		}
		text += "@" + at.String()
	}
	_, err := ql.Parse(text)
	return text, err
}
