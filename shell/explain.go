package shell

import (
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/query/ql"
	"github.com/smolwc/smolwc/query/ql/exec"
)

// printExplained prints a plan and, if the statement ran, its cost: one line for each
// item, or one JSON object.
func (s *Session) printExplained(e *exec.Explained) error {
	if format := formatOf(e.Statement); format != "" {
		defer func(session string) { s.format = session }(s.format)
		s.format = format
	}
	if strings.HasPrefix(s.format, "json") {
		return s.printObject(explainedJSON(e))
	}
	lines := planLines(e)
	switch s.format {
	case "quiet":
		return nil
	case "csv", "tsv", "markdown":
		return s.printLines(append([][]string{{"STEP", "DETAIL"}}, lines...))
	}
	for _, line := range lines { // not cut to the width
		s.out.WriteString(pad(line[0], 10, false) + escapeUnprintable(line[1]) + "\n")
	}
	return nil
}

// formatOf returns the format that a read asks for, or "".
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
		[]string{"seeks", thousands(c.Seeks) + " in " + counted(int64(c.Families), "family", "families")},
		[]string{"time", elapsed(c.Elapsed)})
}

// costLine returns a read's cost on one line.
func costLine(c *exec.Cost) string {
	return fmt.Sprintf("returned %s; looked at %s; %s in %s", returned(c), lookedAt(c), plural(c.Seeks, "seek"), counted(int64(c.Families), "family", "families"))
}

func returned(c *exec.Cost) string {
	text := plural(c.Returned.Rows, "row") + ", " + plural(c.Returned.Cells, "cell")
	if c.Returned.Bytes > 0 {
		text += ", " + plural(c.Returned.Bytes, "byte")
	}
	return text
}

func lookedAt(c *exec.Cost) string {
	text := plural(c.RowsScanned, "row") + ", " + plural(c.CellsScanned, "cell") + ", " + plural(c.BytesScanned, "byte")
	if c.Tombstones > 0 {
		text += ", " + plural(c.Tombstones, "tombstone")
	}
	return text
}

// counted returns a count of things; many is the irregular plural.
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

type planJSON struct {
	Rows     []string   `json:"rows"`
	Scans    []scanJSON `json:"scans"`
	Pushed   []string   `json:"pushed,omitempty"`
	Residual string     `json:"filter,omitempty"`
	Where    string     `json:"where,omitempty"`
	Limit    int        `json:"limit,omitempty"`
	Estimate *estJSON   `json:"estimate,omitempty"`
	Cost     *costJSON  `json:"cost,omitempty"`
}

type estJSON struct {
	Cells int64   `json:"cells"`
	Bytes int64   `json:"bytes"`
	Share float64 `json:"share"`
}

type scanJSON struct {
	Family      string   `json:"family"`
	Columns     []string `json:"columns,omitempty"`
	Since       int64    `json:"since,omitempty"`
	Until       int64    `json:"until,omitempty"`
	Versions    int      `json:"versions,omitempty"`
	CellsPerRow int      `json:"cells_per_row,omitempty"`
	KeysOnly    bool     `json:"keys_only,omitempty"`
	Condition   bool     `json:"condition,omitempty"`
}

type costJSON struct {
	Rows         int64 `json:"rows"`
	Cells        int64 `json:"cells"`
	Bytes        int64 `json:"bytes"`
	RowsScanned  int64 `json:"rows_scanned"`
	CellsScanned int64 `json:"cells_scanned"`
	BytesScanned int64 `json:"bytes_scanned"`
	Tombstones   int64 `json:"tombstones"`
	Seeks        int64 `json:"seeks"`
	Families     int   `json:"families"`
	Micros       int64 `json:"micros"`
}

func explainedJSON(e *exec.Explained) planJSON {
	p := planJSON{Rows: e.Plan.Rows, Scans: []scanJSON{}, Pushed: e.Plan.Pushed, Residual: e.Plan.Residual}
	if p.Rows == nil {
		p.Rows = []string{}
	}
	for _, step := range e.Steps() {
		if step.Name == "where" {
			p.Where, _, _ = strings.Cut(step.Text, " (judged")
		}
	}
	if scan, ok := e.Statement.(*ql.Scan); ok {
		p.Limit = max(scan.Limit, 0)
	}
	if est := e.Estimate; est != nil {
		p.Estimate = &estJSON{est.Cells, est.Bytes, est.Share}
	}
	for _, sc := range e.Plan.Scans {
		p.Scans = append(p.Scans, scanJSON{sc.Family, sc.Columns, int64(sc.Since), int64(sc.Until), sc.Versions, sc.CellsPerRow, sc.KeysOnly, sc.Condition})
	}
	if c := e.Cost; c != nil {
		p.Cost = &costJSON{c.Returned.Rows, c.Returned.Cells, c.Returned.Bytes, c.RowsScanned, c.CellsScanned, c.BytesScanned, c.Tombstones, c.Seeks, c.Families, c.Elapsed.Microseconds()}
	}
	return p
}

// printCollected prints what a gc removed, or would remove, for each family.
func (s *Session) printCollected(c *exec.Collected) error {
	if strings.HasPrefix(s.format, "json") {
		return s.printObject(collectedJSON(c))
	}
	lines := [][]string{{"FAMILY", "CELLS", "SURPLUS", "BYTES", "EXPIRED", "BYTES"}}
	for _, f := range c.Families {
		lines = append(lines, []string{f.Family, fmt.Sprint(f.Scanned), fmt.Sprint(f.Surplus), fmt.Sprint(f.SurplusBytes), fmt.Sprint(f.Expired), fmt.Sprint(f.ExpiredBytes)})
	}
	if s.format == "csv" || s.format == "tsv" {
		lines[0][3], lines[0][5] = "SURPLUS_BYTES", "EXPIRED_BYTES"
	}
	if err := s.printLines(lines); err != nil || !forPeople(s.format) || s.opt.Quiet {
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
	text += plural(surplus, "cell") + ", " + plural(surplusBytes, "byte")
	if expired > 0 {
		text += "; compaction drops " + plural(expired, "expired cell") + ", " + plural(expiredBytes, "byte")
	}
	return text
}

type gcJSON struct {
	Table    string         `json:"table"`
	DryRun   bool           `json:"dry_run"`
	Families []gcFamilyJSON `json:"families"`
}

type gcFamilyJSON struct {
	Family       string `json:"family"`
	Cells        int64  `json:"cells"`
	Surplus      int64  `json:"surplus"`
	SurplusBytes int64  `json:"surplus_bytes"`
	Expired      int64  `json:"expired"`
	ExpiredBytes int64  `json:"expired_bytes"`
}

func collectedJSON(c *exec.Collected) gcJSON {
	g := gcJSON{Table: c.Table, DryRun: c.DryRun, Families: []gcFamilyJSON{}}
	for _, f := range c.Families {
		g.Families = append(g.Families, gcFamilyJSON{f.Family, f.Scanned, f.Surplus, f.SurplusBytes, f.Expired, f.ExpiredBytes})
	}
	return g
}
