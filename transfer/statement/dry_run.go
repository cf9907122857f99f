package statement

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/transfer"
)

// DryRun lists the columns that an import would make, or the fields of its file.
func DryRun(st *ql.Import, res *transfer.Result) *exec.Listing {
	what, _ := imported(res)
	note := "would import " + what
	l := &exec.Listing{Columns: []string{"column", "type", "fits", "values", "example"}}
	if fields := len(res.Fields) > 0 && res.Fields[0].Field != ""; fields {
		l.Columns = []string{"field", "fits", "values", "example"}
		note = humanize.Plural(res.Records, "line") + "; to import them, give key= and columns=, as in key='{" + lex.Escape(res.Fields[0].Field) + "}' columns=" + suggested(res.Fields)
	}
	for _, f := range res.Fields {
		fits := exec.Word(f.Fits.String())
		if f.Field != "" {
			if f.Fits == cells.TypeAny {
				fits = "-"
			}
			name := f.Field
			if f.Many {
				name += ".*"
			}
			l.Lines = append(l.Lines, []any{exec.Word(name), fits, f.Values, example(f)})
			continue
		}
		column := lex.QuoteColumn(f.Family, f.Qualifier)
		if f.Many {
			column += "*"
		}
		l.Lines = append(l.Lines, []any{column, exec.Word(f.Type.String()), fits, f.Values, example(f)})
	}
	if res.BadLines > 0 {
		note += "; left out " + humanize.Plural(res.BadLines, "bad line")
	}
	if left := without(st, res); left != "" {
		note += "; " + left
	}
	l.Notes = []string{note}
	if text := respelled(res.Fields); text != "" {
		l.Notes = append(l.Notes, text)
	}
	return l
}

// respelled names some fields that a narrower type would take with their values, though not
// as they are written.
func respelled(fields []transfer.FieldReport) string {
	const most = 3
	var list []string
	for _, f := range fields {
		if f.Near == cells.TypeAny {
			continue
		}
		name := f.Field
		if name == "" {
			name = lex.QuoteColumn(f.Family, f.Qualifier)
		}
		list = append(list, fmt.Sprintf("%s as %s (%s)", name, f.Near, lex.QuoteText(f.Respelled)))
	}
	if len(list) == 0 {
		return ""
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprint(more, " more"))
	}
	return "these would keep their values, and some would be written otherwise: " + strings.Join(list, ", ")
}

func example(f transfer.FieldReport) cells.Value {
	return cells.String(strings.ToValidUTF8(f.Example, "\uFFFD"))
}

// suggested is columns= for the first fields, and for an object with many members.
func suggested(fields []transfer.FieldReport) string {
	var list []string
	for i, f := range fields[min(1, len(fields)-1):] {
		if f.Many {
			return strings.Join(append(list, "FAMILY:*="+lex.QuoteText(f.Field)), ",")
		}
		if f.Fits == cells.TypeAny || i >= 3 {
			continue
		}
		name := lex.QuoteKey(f.Field)
		if strings.Contains(f.Field, ":") {
			name = lex.QuoteText(f.Field)
		}
		qualifier := f.Field[strings.LastIndexByte(f.Field, '.')+1:]
		if text := "FAMILY:" + lex.QuoteQualifier(qualifier) + "=" + name; f.Fits == cells.TypeString {
			list = append(list, text)
		} else {
			list = append(list, text+":"+f.Fits.String())
		}
	}
	return strings.Join(list, ",")
}
