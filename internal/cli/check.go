package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/smolwc/smolwc/query"
)

// A checkRun is a check of a database.
type checkRun struct {
	*command
	format string
}

func (c *command) checkCommand() *cobra.Command {
	r := &checkRun{command: c}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read everything, and report what is damaged",
		Long: `check reads the whole database and changes nothing; another process may be writing
it meanwhile. It compares files with their checksums and the catalog with the
existing families, and checks that every key and value decodes, is in order and in
bounds, and has its family's type.

It exits with 0 when nothing is wrong, with 1 when something is, and with 3 when
the database cannot be opened, perhaps because it is damaged.`,
		Example: "  smolwc check --db data",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.check(cmd.Context()) },
	}
	cmd.Flags().StringVar(&r.format, "format", "table", "print the report as `FORMAT`: table or json")
	return cmd
}

func (r *checkRun) check(ctx context.Context) (err error) {
	ctx, stop := interruptible(ctx)
	defer stop()
	if r.format != "table" && r.format != "json" {
		return fail(exitUsage, fmt.Errorf("--format is %q; it can be table or json", r.format))
	}
	cfg, err := r.load()
	if err != nil {
		return err
	}
	db, err := r.open(ctx, cfg, query.Options{MustExist: true, ReadOnly: true})
	if err != nil {
		return err
	}
	defer closing(db, &err)
	progress, clear := r.progress()
	report, err := db.Check(ctx, query.OnCheckProgress(progress))
	clear()
	if err != nil {
		return fail(exitFailed, err)
	}
	if err := r.print(report); err != nil {
		return fail(exitFailed, err)
	}
	if !report.OK() {
		return &failure{code: exitFailed}
	}
	return nil
}

// progress returns functions that show and clear a check's progress on a terminal.
func (r *checkRun) progress() (show func(query.CheckProgress), clear func()) {
	if r.quiet || !isTerminal(r.stderr) {
		return func(query.CheckProgress) {}, func() {}
	}
	show = func(p query.CheckProgress) {
		_, _ = fmt.Fprintf(r.stderr, "\r\x1b[K%d files, %d MB", p.Files, p.FileBytes>>20)
		if p.Family != "" {
			_, _ = fmt.Fprintf(r.stderr, "; %d cells, family %s", p.Cells, p.Family)
		}
	}
	return show, func() { _, _ = io.WriteString(r.stderr, "\r\x1b[K") }
}

func (r *checkRun) print(report *query.CheckReport) error {
	if r.format == "json" {
		return r.printJSON(report)
	}
	_, err := io.WriteString(r.stdout, checkText(report))
	return err
}

// checkText is a report for people.
func checkText(report *query.CheckReport) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "rows\tcells\tbytes\tproblems\t  family\n")
	for _, f := range report.Families {
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s/%s\n", f.Rows, f.Cells, f.Bytes, f.Problems, f.Table, f.Family)
	}
	_ = w.Flush()
	_, _ = fmt.Fprintf(&out, "%d files, %d bytes\n", report.Files, report.FileBytes)
	for i := range report.Problems {
		_, _ = fmt.Fprintf(&out, "problem: %v\n", &report.Problems[i])
	}
	switch more := report.Count - int64(len(report.Problems)); {
	case report.OK():
		out.WriteString("nothing is wrong\n")
	case more > 0:
		_, _ = fmt.Fprintf(&out, "and %d problems more\n", more)
	}
	return out.String()
}

func (r *checkRun) printJSON(report *query.CheckReport) error {
	type family struct {
		Table    string `json:"table"`
		Family   string `json:"family"`
		Rows     int64  `json:"rows"`
		Cells    int64  `json:"cells"`
		Bytes    int64  `json:"bytes"`
		Problems int64  `json:"problems"`
	}
	type problem struct {
		File   string `json:"file,omitempty"`
		Family string `json:"family,omitempty"`
		Key    string `json:"key,omitempty"` // in hexadecimal
		Error  string `json:"error"`
	}
	out := struct {
		OK        bool      `json:"ok"`
		Files     int64     `json:"files"`
		FileBytes int64     `json:"file_bytes"`
		Families  []family  `json:"families"`
		Problems  []problem `json:"problems"`
		Count     int64     `json:"problem_count"`
	}{OK: report.OK(), Files: report.Files, FileBytes: report.FileBytes, Families: []family{}, Problems: []problem{}, Count: report.Count}
	for _, f := range report.Families {
		out.Families = append(out.Families, family(f))
	}
	for _, p := range report.Problems {
		out.Problems = append(out.Problems, problem{p.File, p.Family, fmt.Sprintf("%x", p.Key), p.Err.Error()})
	}
	return json.NewEncoder(r.stdout).Encode(out)
}
