package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/smolwc/smolwc/client/bigtable"
	"github.com/smolwc/smolwc/query"
)

// envEmulator is the environment variable with the address of an emulator, as for Google's
// clients.
const envEmulator = "BIGTABLE_EMULATOR_HOST"

// checkSlice refuses flags that do not fit the source.
func (r *copyRun) checkSlice(flags *pflag.FlagSet) error {
	if r.ofBigtable() {
		if r.untilEqual || r.unfinished {
			return errors.New("--until-equal and --unfinished are about a source in a directory or on TiKV, not at bigtable://")
		}
		return nil
	}
	for _, name := range sliceFlagNames {
		if flags.Changed(name) {
			return fmt.Errorf("--%s is about a source bigtable://PROJECT/INSTANCE", name)
		}
	}
	return nil
}

func (r *copyRun) ofBigtable() bool { return strings.HasPrefix(r.from, bigtable.Scheme+"://") }

// copySlice copies tables of an instance of Bigtable.
func (r *copyRun) copySlice(ctx context.Context) (err error) {
	place, err := bigtable.ParseURL(r.from)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("--from: %w", err))
	}
	if place.Endpoint == "" {
		place.Endpoint = r.getenv(envEmulator)
	}
	if place.Endpoint != "" {
		place.Token = r.getenv(envToken)
	}
	if err := r.canOpen(r.to); err != nil {
		return err
	}
	o, err := r.slice.options()
	if err != nil {
		return fail(exitUsage, err)
	}
	o.Tables, o.Verify, o.Follow = r.tables, r.verify, r.follow
	from, err := bigtable.Dial(ctx, place)
	if err != nil {
		return fail(exitOpen, err)
	}
	defer func() { _ = from.Close() }() // nothing was written there
	line := &copyLine{out: r.stderr, shown: !r.quiet && isTerminal(r.stderr), lag: !r.quiet && r.follow}
	o.Progress = func(p bigtable.Progress) {
		if p.Fault != nil {
			line.waits(p.Fault, r.quiet)
			return
		}
		of := query.CopyProgress{Cells: p.Cells, Bytes: p.Bytes, Rows: p.Changed}
		if of.Following = !p.Through.IsZero(); of.Following {
			of.Lag = time.Since(p.Through)
		}
		line.show(of)
	}
	if err := bigtable.Check(ctx, from, o); err != nil { // before anything is created
		return fail(exitFailed, err)
	}
	cfg, err := r.load(ctx)
	if err != nil {
		return err
	}
	to, err := r.openAt(ctx, r.to, cfg, query.Options{GCInterval: -1, Durability: query.DurabilityAsync})
	if err != nil {
		return fail(exitOpen, fmt.Errorf("--to: %w", err))
	}
	defer closing(to, &err)
	report, err := bigtable.Copy(ctx, from, to, o)
	line.clear()
	if errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintf(r.stderr, "smolwc: the copy in %s is unfinished; %s\n", shown(r.to), goesOn(o))
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	for _, m := range report.Unmet {
		_, _ = fmt.Fprintf(r.stderr, "smolwc: the mask %s replaced no value; see that its columns are called so\n", m)
	}
	if err := unlessPiped(r.printSlice(report)); err != nil {
		return fail(exitFailed, err)
	}
	if report.Different > 0 {
		return &failure{code: exitFailed}
	}
	return nil
}

// goesOn says how an interrupted copy is continued.
func goesOn(o bigtable.Options) string {
	keyed := slices.ContainsFunc(o.Masks, func(m bigtable.Mask) bool { return m.Method != bigtable.Null })
	if keyed && len(o.MaskKey) == 0 {
		return "the key of its masks is gone, so copy into another directory; with --mask-key a copy can be continued"
	}
	if o.Follow {
		return "the same command goes on, and without --follow ends it"
	}
	return "the same command goes on"
}

func (r *copyRun) printSlice(report *bigtable.Report) error {
	if r.format == "json" {
		return r.jsonSlice(report)
	}
	if !report.Found {
		_, err := io.WriteString(r.out, tableOf("rows\tcells\tbytes\t  copied of table\n", func(w io.Writer) {
			for _, t := range report.Tables {
				_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t  %s\n", t.Copied.Rows, t.Copied.Cells, t.Copied.Bytes, t.Table)
			}
		}))
		if err != nil || !report.Verified {
			return err
		}
	}
	_, err := io.WriteString(r.out, tableOf("rows\tcells\tchecksum\trows in --to\tcells\tchecksum\t  table\n", func(w io.Writer) {
		for _, t := range report.Tables {
			_, _ = fmt.Fprintf(w, "%d\t%d\t%016x\t%d\t%d\t%016x\t  %s\n", t.Source.Rows, t.Source.Cells, t.Source.Checksum, t.Target.Rows, t.Target.Cells, t.Target.Checksum, t.Table)
		}
	}))
	for _, d := range report.Differences {
		r.say("%s row %q %s", d.Table, d.Row, d.What)
	}
	if more := report.Different - int64(len(report.Differences)); more > 0 {
		r.say("and %d more rows", more)
	}
	if report.Different == 0 {
		r.say("source and target are equal")
	}
	return err
}

type jsonSide struct {
	Rows     int64  `json:"rows"`
	Cells    int64  `json:"cells"`
	Bytes    int64  `json:"bytes"`
	Checksum string `json:"checksum,omitempty"` // in hexadecimal
}

func (r *copyRun) jsonSlice(report *bigtable.Report) error {
	type table struct {
		Table  string    `json:"table"`
		Copied *jsonSide `json:"copied,omitempty"`
		From   *jsonSide `json:"from,omitempty"`
		To     *jsonSide `json:"to,omitempty"`
	}
	type difference struct {
		Table string `json:"table"`
		Row   []byte `json:"row"` // in base64
		What  string `json:"what"`
	}
	out := struct {
		Tables      []table      `json:"tables"`
		Resumed     bool         `json:"resumed"`
		Verified    bool         `json:"verified"`
		Differences []difference `json:"differences"`
		Count       int64        `json:"difference_count"`
		Unmet       []string     `json:"unmet_masks"`
	}{Resumed: report.Resumed, Verified: report.Verified, Differences: []difference{}, Count: report.Different, Unmet: []string{}}
	for _, m := range report.Unmet {
		out.Unmet = append(out.Unmet, m.String())
	}
	side := func(s bigtable.Sum) *jsonSide {
		return &jsonSide{s.Rows, s.Cells, s.Bytes, fmt.Sprintf("%016x", s.Checksum)}
	}
	for _, t := range report.Tables {
		j := table{Table: t.Table}
		if !report.Found {
			j.Copied = &jsonSide{Rows: t.Copied.Rows, Cells: t.Copied.Cells, Bytes: t.Copied.Bytes}
		}
		if report.Verified {
			j.From, j.To = side(t.Source), side(t.Target)
		}
		out.Tables = append(out.Tables, j)
	}
	for _, d := range report.Differences {
		out.Differences = append(out.Differences, difference{d.Table, []byte(d.Row), d.What})
	}
	return r.json(out)
}
