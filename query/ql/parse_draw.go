package ql

import (
	"github.com/smolwc/smolwc/query/ql/lex"
)

import ()

// parseHistogram parses histogram T COL|keys [bins=N] [depth=N] [separator=TEXT]
// [options of scan].
func parseHistogram(p *parser) (Statement, error) {
	st := &Histogram{}
	var err error
	if st.Table, err = p.tableName(); err != nil {
		return nil, err
	}
	p.wantOneOf(ExpectKeyword, "keys")
	if p.peek().Keyword() == "keys" && !p.atOption(0) {
		p.next()
	} else if st.Column, err = p.exactColumn(); err != nil {
		return nil, err
	}
	to := &target{rows: &st.Rows, read: &st.Read, draw: &drawing{}}
	if err := p.options(inHistogram, to); err != nil {
		return nil, err
	}
	st.Bins, st.Depth, st.Separator = to.draw.bins, to.draw.depth, to.draw.separator
	wrong := []string{"depth", "separator"}
	if st.Column.Family == "" {
		wrong = []string{"versions"}
	}
	if st.Column.Family != "" && st.Bins == 1 { // numbers on both sides of 0 are in no bin together
		return nil, lex.ErrorAt(to.seen["bins"], "a histogram of a column has 2 bins at least")
	}
	for _, name := range wrong {
		if at, ok := to.seen[name]; ok {
			return nil, lex.ErrorAt(at, "%s does not go with a histogram of %s", name, histogramOf(st))
		}
	}
	return st, nil
}

func histogramOf(st *Histogram) string {
	if st.Column.Family == "" {
		return "row keys"
	}
	return "a column"
}

// parseSparkline parses sparkline T KEY COL [points=N] [since=TS] [until=TS] [as FORMAT].
func parseSparkline(p *parser) (Statement, error) {
	st := &Sparkline{}
	if _, err := p.cell(&st.Table, &st.Key, &st.Column); err != nil {
		return nil, err
	}
	to := &target{rows: &Rows{}, read: &st.Read, draw: &drawing{}}
	err := p.options(inSparkline, to)
	st.Points = to.draw.points
	return st, err
}

// parseStats parses stats [T] [as FORMAT].
func parseStats(p *parser) (Statement, error) {
	st := &Stats{}
	p.wantKind(ExpectTable)
	if p.atWord() {
		var err error
		if st.Table, err = p.tableNamed(); err != nil {
			return nil, err
		}
	}
	if !p.acceptWord("as") {
		return st, nil
	}
	read := &Read{}
	err := p.formatOption(&target{read: read})
	st.Format = read.Format
	return st, err
}
