package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

// A backupsPage shows the backups of the place to which the server sends them, or else the
// database was backed up to last.
type backupsPage struct {
	Target     string // where the server sends backups itself; "" for nowhere
	Backups    []backupLine
	Problem    string // why they cannot be listed
	None       bool   // there is no place, or the token may not see it
	Schedule   *archive.ScheduleStatus
	Overdue    bool            // the schedule should have made a backup
	Continuous *moments.Status // nil: the server does not send its log
	Delay      time.Duration   // of Continuous
	Moments    moments.Report
	Act        string // that waits for the answer to Question
	Question   string
	Work       work
	Tables     []client.TableBackup // by Bigtable's API
}

// A backupLine is a backup with the state of its files.
type backupLine struct {
	archive.Generation
	State string // "" if no page has verified it
	Well  bool
}

// targetTime is how long a page waits for the place of the backups.
const targetTime = 10 * time.Second

func showBackups(v *visit) error { return v.showBackups("", "") }

func (v *visit) showBackups(act, question string) error {
	p := backupsPage{Act: act, Question: question, Work: v.console.work.of(v.token)}
	ctx, cancel := context.WithTimeout(v.r.Context(), targetTime)
	defer cancel()
	// Another server than ours may not have them.
	p.Tables, _ = v.TableBackups(ctx)
	all, err := v.ListBackups(ctx, "")
	if err == nil {
		p.Moments, err = v.Moments(ctx, "")
	}
	if err != nil {
		p.Problem = err.Error()
	}
	// What the server says of its own work needs the same right as the list.
	if p.None = query.KindOf(err) == query.KindFailedPrecondition; p.None {
		return v.show("backups", "Backups", p)
	}
	report := v.console.work.lastVerified()
	for _, g := range slices.Backward(all) {
		p.Backups = append(p.Backups, report.line(g))
	}
	o := v.console.options
	if o.Backups != nil {
		status := o.Backups.Status()
		p.Schedule, p.Overdue = &status, status.Last.ID != 0 && time.Since(status.Last.Time) > 2*status.Every
	}
	if o.Moments != nil {
		status := o.Moments.Status()
		p.Continuous, p.Delay = &status, status.Delay(time.Now()).Round(time.Millisecond)
	}
	p.Target = cmp.Or(o.Moments.Status().Target, o.Backups.Target())
	return v.show("backups", "Backups", p)
}

// line describes a backup.
func (r *verified) line(g archive.Generation) backupLine {
	if g.Damaged != "" {
		return backupLine{g, "damaged: " + g.Damaged, false}
	}
	if r == nil || r.upTo < g.ID {
		return backupLine{Generation: g}
	}
	for _, d := range r.Damage {
		if d.Generation == g.ID {
			return backupLine{g, "damaged: " + cmp.Or(d.File, "the manifest") + ": " + d.Problem, false}
		}
	}
	return backupLine{g, "verified " + spanText(time.Since(r.at)) + " ago", true}
}

// changeBackups makes a backup, verifies all of them, or stops that work. It asks first.
func changeBackups(v *visit) error {
	act, sure := v.r.FormValue("act"), v.r.FormValue("sure") != ""
	var err error
	switch {
	case act == "stop":
		v.console.work.stop(v.token)
	case act == "backup" && !sure:
		return v.showBackups(act, "this makes a backup, while reads and writes go on, and removes none; make it?")
	case act == "verify" && !sure:
		return v.showBackups(act, "this reads every byte of all backups; verify them?")
	case act == "backup":
		err = v.console.work.begin(v.token, "Making a backup", "", func(ctx context.Context, o archive.Options) (string, error) {
			made, err := v.BackUp(ctx, "", archive.BackupOptions{Options: o})
			return fmt.Sprintf("backup %d is made: %s, and %s were sent", made.ID, inBytes.of(made.Size), inBytes.of(made.SentBytes)), err
		})
	case act == "verify":
		err = v.verifyBackups()
	default:
		return invalid("there is no act %s; want backup, verify or stop", lex.QuoteText(act))
	}
	if err != nil {
		return err
	}
	return v.showBackups("", "")
}

func (v *visit) verifyBackups() error {
	all, err := v.ListBackups(v.r.Context(), "")
	if err != nil {
		return err
	}
	found := &verified{}
	for _, g := range all {
		found.upTo = max(found.upTo, g.ID)
	}
	return v.console.work.begin(v.token, "Verifying the backups", "", func(ctx context.Context, o archive.Options) (string, error) {
		report, err := v.VerifyBackups(ctx, "", o)
		found.VerifyReport = report
		if found.at = time.Now(); found.Elapsed > 0 {
			v.console.work.found(found)
		}
		return humanize.Count(found.Generations, "backup") + ", " + inBytes.of(found.Bytes) + ": every byte is as it was written", err
	})
}

// showWork is the part of the page of backups that says how far the work is.
func showWork(v *visit) error { return v.show("work", "Backups", v.console.work.of(v.token)) }
