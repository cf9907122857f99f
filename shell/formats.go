package shell

// rowPrinters holds a constructor for each format.
var rowPrinters = map[string]func(*view) rowPrinter{
	"table": func(v *view) rowPrinter { return &tabular{view: v, style: tableStyle} },
	"markdown": func(v *view) rowPrinter {
		v.width, v.palette = 0, palette{}
		return &tabular{view: v, style: markdownStyle}
	},
	"line":  func(v *view) rowPrinter { return &linePrinter{view: v} },
	"cbt":   func(v *view) rowPrinter { return &cbtPrinter{v} },
	"json":  func(v *view) rowPrinter { return &jsonPrinter{view: v, array: true} },
	"jsonl": func(v *view) rowPrinter { return &jsonPrinter{view: v} },
	"csv":   func(v *view) rowPrinter { return newSeparated(v, csvRecord) },
	"tsv":   func(v *view) rowPrinter { return newSeparated(v, tsvRecord) },
	"quiet": func(v *view) rowPrinter { return quietPrinter{} },
}
