package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/shell"
)

// A momentPage chooses a moment, and opens a table as it was then: a copy beside the present tables.
type momentPage struct {
	Table, As, At    string // of the form
	Earliest, Latest time.Time
	Slider           slider
	Gaps             []moments.Gap
	Problem          string
	Question         string
	Work             work
}

// A slider is in seconds since 1970.
type slider struct{ Least, Most, At int64 }

func showMoment(v *visit) error {
	return v.showMoment(momentPage{Table: v.r.FormValue("table"), As: v.r.FormValue("as"), At: v.r.FormValue("at")})
}

func (v *visit) showMoment(p momentPage) error {
	if err := v.Refresh(v.r.Context()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(v.r.Context(), targetTime)
	defer cancel()
	r, err := v.Moments(ctx, "")
	switch {
	case err != nil:
		p.Problem = cmp.Or(p.Problem, err.Error())
	case r.Earliest.IsZero():
		p.Problem = "no moment can be restored: smolwc serve --backup PLACE --continuous sends the log to the backups"
	}
	if p.Work = v.console.work.of(v.token); p.As == "" && p.Table != "" {
		p.As = v.unusedName(p.Table + "_before")
	}
	if p.Earliest, p.Latest, p.Gaps = r.Earliest, r.Latest, r.Gaps; !r.Earliest.IsZero() {
		least := secondsUp(r.Earliest)
		p.Slider = slider{Least: least, Most: max(least, r.Latest.Unix())}
		p.Slider.At = p.Slider.Most
		if at, err := shell.ParseMoment(p.At); err == nil && !at.Time.IsZero() {
			p.Slider.At = min(max(at.Time.Unix(), p.Slider.Least), p.Slider.Most)
		}
	}
	return v.show("moment", "A table as it was", p)
}

// secondsUp is the first second that is not before a moment.
func secondsUp(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

// unusedName is a name that no table has.
func (v *visit) unusedName(name string) string {
	for i := 2; ; i++ {
		if _, there := v.LookupTable(name); !there {
			return name
		}
		name = strings.TrimRight(strings.TrimRight(name, "0123456789"), "_") + "_" + strconv.Itoa(i)
	}
}

// openMoment opens a table as it was. It asks first, and names the backup and the segments that it will read.
func openMoment(v *visit) error {
	field := func(name string) string { return strings.TrimSpace(v.r.FormValue(name)) }
	p := momentPage{Table: field("table"), As: field("as"), At: field("at")}
	switch v.r.FormValue("act") {
	case "stop":
		v.console.work.stop(v.token)
		return v.showMoment(p)
	case "choose":
		return v.showMoment(p)
	}
	if s, err := strconv.ParseInt(field("second"), 10, 64); err == nil && p.At == "" { // the slider
		p.At = time.Unix(s, 0).UTC().Format(time.RFC3339)
	}
	if err := v.openMoment(&p); err != nil {
		p.Problem = err.Error()
	}
	return v.showMoment(p)
}

func (v *visit) openMoment(p *momentPage) error {
	if p.Table == "" || p.As == "" || p.At == "" {
		return invalid("choose a moment, and name the table and the new table beside it")
	}
	at, err := shell.ParseMoment(p.At)
	if err != nil {
		return err
	}
	t := moments.TableRestore{Table: p.Table, As: p.As, At: &at}
	if v.r.FormValue("sure") == "" {
		plan, err := v.plan(t)
		if err == nil {
			p.Question = fmt.Sprintf("this reads backup %d, %s, and %s of the log, %s, and makes the new table %s: %s as it was at %s; no other table changes; open it?",
				plan.Backup.ID, inBytes.of(plan.Backup.Size), humanize.Count(plan.Segments, "segment"), inBytes.of(plan.Bytes), lex.QuoteName(t.As), lex.QuoteName(t.Table), at)
		}
		return err
	}
	return v.console.work.begin(v.token, fmt.Sprintf("Opening %s as of %s", lex.QuoteName(t.Table), at), t.As, func(ctx context.Context, o archive.Options) (string, error) {
		res, err := v.RestoreTable(ctx, "", t, moments.RestoreOptions{RestoreOptions: archive.RestoreOptions{Options: o}})
		return fmt.Sprintf("the table %s is %s as of %s", lex.QuoteName(t.As), lex.QuoteName(t.Table), moments.Moment{Time: res.Until}), err
	})
}

// errPlanned ends a restore that only plans its reads.
var errPlanned = errors.New("the plan is known")

// plan asks the server for the reads of a restore. It reads nothing, and makes no table.
func (v *visit) plan(t moments.TableRestore) (plan moments.Plan, err error) {
	ctx, cancel := context.WithTimeout(v.r.Context(), targetTime)
	defer cancel()
	_, err = v.RestoreTable(ctx, "", t, moments.RestoreOptions{Planned: func(p moments.Plan) error { plan = p; return errPlanned }})
	if errors.Is(err, errPlanned) {
		err = nil
	}
	return plan, err
}
