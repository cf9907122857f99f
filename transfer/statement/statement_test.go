package statement_test

import (
	"fmt"
	"time"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/transfer"
	"github.com/smolwc/smolwc/transfer/statement"
)

func Example() {
	st, err := ql.Parse("import fleet from 'planes.csv' key='{tail}' columns=meta:model=model")
	if err != nil {
		panic(err)
	}
	spec := statement.Import(st.(*ql.Import))
	fmt.Println(spec.Path, spec.Key, spec.Columns[0].Field)
	done := &transfer.Result{Rows: 1200, Cells: 2400, Records: 1200, NoCells: 1, Elapsed: 10 * time.Microsecond}
	for _, note := range statement.Notes(st.(*ql.Import), done) {
		fmt.Println(note)
	}
	fmt.Println(statement.LeftOut(&transfer.Proposal{Nested: []string{"parts"}, NA: "NA", Missing: []string{"country", "tail"}}))
	// Output:
	// planes.csv {tail} model
	// imported 1,200 rows, 2,400 cells in 10us
	// left out 1 line without a value (keep-empty keeps empty text)
	// left out, since their values are objects or lists: parts; a part is named by its path, as in c:part='$.parts.part'; na=NA leaves NA out of these texts, too: country, tail
}
