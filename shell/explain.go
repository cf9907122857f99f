package shell

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// printExplained prints a plan and, if the statement ran, its cost: one line for each
// item, or one JSON object.
func (s *Session) printExplained(e *exec.Explained) error {
	if format := formatOf(e.Statement); format != "" {
		defer func(session string) { s.format = session }(s.format)
		s.format = format
	}
	if strings.HasPrefix(s.format, "json") {
		return s.printObject(explainedObject(e))
	}
	lines := planLines(e)
	switch s.format {
	case "quiet":
		return nil
	case "csv", "tsv", "markdown":
		return s.printLines(append([][]string{{"STEP", "DETAIL"}}, lines...))
	}
	for _, line := range lines { // not cut to the width
		s.out.WriteString(pad(line[0], 10, false) + lex.Escape(line[1]) + "\n")
	}
	return nil
}

func formatOf(st ql.Statement) string {
	switch st := st.(type) {
	case *ql.Get:
		return st.Format
	case *ql.Scan:
		return st.Format
	}
	return ""
}

func planLines(e *exec.Explained) [][]string {
	var lines [][]string
	for _, step := range e.Steps() {
		lines = append(lines, []string{step.Name, step.Text})
	}
	c := e.Cost
	if c == nil {
		return lines
	}
	return append(lines,
		[]string{"returned", returned(c)},
		[]string{"looked at", lookedAt(c)},
		[]string{"seeks", humanize.Thousands(c.Seeks) + " in " + humanize.Plural(c.Families, "family", "families")},
		[]string{"time", humanize.Elapsed(c.Elapsed)})
}

func costLine(c *exec.Cost) string {
	switch {
	case c.Families == 0 && c.RowsScanned == 0: // a server did not say it
		return "returned " + returned(c)
	case c.Families == 0: // a server does not say more
		return fmt.Sprintf("returned %s; the server looked at %s, %s", returned(c), humanize.Plural(c.RowsScanned, "row"), humanize.Plural(c.CellsScanned, "cell"))
	}
	return fmt.Sprintf("returned %s; looked at %s; %s in %s", returned(c), lookedAt(c), humanize.Plural(c.Seeks, "seek"), humanize.Plural(c.Families, "family", "families"))
}

func returned(c *exec.Cost) string {
	text := humanize.Plural(c.Returned.Rows, "row") + ", " + humanize.Plural(c.Returned.Cells, "cell")
	if c.Returned.Bytes > 0 {
		text += ", " + humanize.Plural(c.Returned.Bytes, "byte")
	}
	return text
}

func lookedAt(c *exec.Cost) string {
	text := humanize.Plural(c.RowsScanned, "row") + ", " + humanize.Plural(c.CellsScanned, "cell") + ", " + humanize.Plural(c.BytesScanned, "byte")
	if c.Tombstones > 0 {
		text += ", " + humanize.Plural(c.Tombstones, "tombstone")
	}
	return text
}

func explainedObject(e *exec.Explained) (o object) {
	o.add("rows", e.Plan.Rows)
	var scans []object
	for _, scan := range e.Plan.Scans {
		scans = append(scans, scanObject(scan))
	}
	o.add("scans", scans)
	o.addSet("pushed", e.Plan.Pushed)
	o.addSet("judged", e.Plan.Judged)
	o.addSet("filter", e.Plan.Residual)
	for _, step := range e.Steps() {
		if step.Name == "where" {
			where, _, _ := strings.Cut(step.Text, " (in the engine")
			o.add("where", where)
		}
	}
	if scan, ok := e.Statement.(*ql.Scan); ok {
		o.addSet("limit", max(scan.Limit, 0))
	}
	if est := e.Estimate; est != nil {
		o.add("estimate", objectOf([]string{"cells", "bytes", "share"}, []any{est.Cells, est.Bytes, est.Share}))
	}
	if e.Cost != nil {
		o.add("cost", costObject(e.Cost))
	}
	return o
}

func scanObject(scan query.ScanPlan) (o object) {
	o.add("family", scan.Family)
	o.addSet("columns", scan.Columns)
	o.addSet("since", scan.Since)
	o.addSet("until", scan.Until)
	o.addSet("versions", scan.Versions)
	o.addSet("cells_per_row", scan.CellsPerRow)
	o.addSet("keys_only", scan.KeysOnly)
	o.addSet("condition", scan.Condition)
	return o
}

func costObject(c *exec.Cost) object {
	return objectOf(
		[]string{"rows", "cells", "bytes", "rows_scanned", "cells_scanned", "bytes_scanned", "tombstones", "seeks", "families", "micros"},
		[]any{c.Returned.Rows, c.Returned.Cells, c.Returned.Bytes, c.RowsScanned, c.CellsScanned, c.BytesScanned, c.Tombstones, c.Seeks, c.Families, c.Elapsed.Microseconds()})
}

func (s *Session) printCollected(c *exec.Collected) error {
	columns := []string{"family", "cells", "surplus", "surplus_bytes", "expired", "expired_bytes"}
	var lines [][]any
	for _, f := range c.Families {
		lines = append(lines, []any{f.Family, f.Scanned, f.Surplus, f.SurplusBytes, f.Expired, f.ExpiredBytes})
	}
	switch {
	case strings.HasPrefix(s.format, "json"):
		return s.printObject(objectOf([]string{"table", "dry_run", "families"}, []any{c.Table, c.DryRun, objectsOf(columns, lines)}))
	case !forPeople(s.format):
		return s.printFields(columns, lines)
	}
	if err := s.printFields([]string{"FAMILY", "CELLS", "SURPLUS", "BYTES", "EXPIRED", "BYTES"}, lines); err != nil || s.opt.Quiet {
		return err
	}
	return s.say("%s", collected(c))
}

// collected sums up a gc: surplus cells are removed at once, expired cells later.
func collected(c *exec.Collected) string {
	var surplus, surplusBytes, expired, expiredBytes int64
	for _, f := range c.Families {
		surplus, surplusBytes = surplus+f.Surplus, surplusBytes+f.SurplusBytes
		expired, expiredBytes = expired+f.Expired, expiredBytes+f.ExpiredBytes
	}
	text := "removed "
	if c.DryRun {
		text = "would remove "
	}
	text += humanize.Plural(surplus, "cell") + ", " + humanize.Plural(surplusBytes, "byte")
	if expired > 0 {
		text += "; compaction drops " + humanize.Plural(expired, "expired cell") + ", " + humanize.Plural(expiredBytes, "byte")
	}
	return text
}
