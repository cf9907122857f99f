package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// operator returns the maker of backups of the session's database.
func (s *Session) operator() operator {
	if s.opt.Remote != nil {
		return s.opt.Remote
	}
	return archive.Local{DB: s.db}
}

// copied adds a hint to the read-only error of a database that another process has
// open: the command with which that process does the work.
func copied(err error, words ...string) error {
	if errors.Is(err, query.ErrReadOnly) {
		return fmt.Errorf("%w; %s", err, Served(words...))
	}
	return err
}

// Served returns the command that makes a server do the work on a database that it has
// open. Paths among the words should be absolute.
func Served(words ...string) string {
	command := "smolwc"
	for _, w := range words {
		if strings.ContainsFunc(w, unsafeInShell) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		command += " " + w
	}
	return "if smolwc serve has it open, let the server do it: " + command + " --addr " + usualAddr
}

// usualAddr is the default address of smolwc serve.
const usualAddr = "127.0.0.1:8086"

// unsafeInShell reports whether a character may be special to the system's shell.
func unsafeInShell(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/.:_-+=@%", r)
}

func (s *Session) travel(t ql.Travel) archive.Options {
	return archive.Options{Parallel: t.Parallel, Rate: t.Rate, Progress: s.progress()}
}

func (s *Session) backup(ctx context.Context, st *ql.Backup) (exec.Result, error) {
	res, err := s.operator().BackUp(ctx, st.To, archive.BackupOptions{Options: s.travel(st.Travel), Keep: st.Keep})
	if res.ID == 0 {
		return nil, copied(err, "backup", st.To)
	}
	s.note("backed up as %d: %s, %s (%s sent) in %s", res.ID, plural(res.Files, "file"), size(res.Size), size(res.SentBytes), elapsed(res.Elapsed))
	if p := res.Pruned; p.Generations > 0 || p.Objects > 0 {
		s.note("pruned %s, which gave back %s", plural(p.Generations, "backup"), size(p.Bytes))
	}
	if err != nil {
		return nil, err
	}
	return listBackups([]archive.Generation{res.Generation}), nil
}

func (s *Session) backups(ctx context.Context, st *ql.Backups) (exec.Result, error) {
	all, err := s.operator().ListBackups(ctx, st.In)
	if err != nil {
		return nil, err
	}
	for _, g := range all {
		if g.Damaged != "" {
			s.note("%s", lex.Escape(g.Damaged))
		}
	}
	if s.opt.Remote != nil {
		return listBackups(all), nil
	}
	a, err := s.archive(ctx, st.In)
	if err != nil {
		return nil, err
	}
	r, err := moments.Look(ctx, a)
	if err != nil {
		return nil, err
	}
	s.noteMoments(r)
	return listBackups(all), nil
}

// archive opens a target, or that of the last backup.
func (s *Session) archive(ctx context.Context, target string) (*archive.Archive, error) {
	target, err := archive.Local{DB: s.db}.Target(ctx, target)
	if err != nil {
		return nil, err
	}
	return archive.Open(ctx, target)
}

// noteMoments says which moments can be restored, if there is anything to say.
func (s *Session) noteMoments(r moments.Report) {
	if r.Segments == 0 {
		return
	}
	at := func(t time.Time) string { return lex.FormatTimestamp(cells.TimestampOf(t), s.runner.Zone) }
	if r.Earliest.IsZero() {
		s.note("no moment can be restored yet: no backup leads to the %s of the log", plural(r.Segments, "segment"))
	} else {
		s.note("each moment from %s to %s can be restored, %s ago, position %d: %s of the log, %s, after %s", at(r.Earliest), at(r.Latest), elapsed(max(0, time.Since(r.Latest))), r.Position,
			plural(r.Segments, "segment"), size(r.Bytes), plural(r.Bases, "backup"))
	}
	for _, g := range r.Gaps {
		if g.To.IsZero() {
			s.note("but for a gap from %s on, until the next backup: %s", at(g.From), g.Reason)
			continue
		}
		s.note("but for a gap from %s to %s: %s", at(g.From), at(g.To), g.Reason)
	}
	for _, d := range r.Damage {
		s.note("%s", lex.Escape(d.Error()))
	}
}

// listBackups has a line for each backup. For a backup with a damaged manifest it has
// only the number.
func listBackups(all []archive.Generation) *exec.Listing {
	l := &exec.Listing{Columns: []string{"backup", "time", "bytes", "new_bytes", "files", "state"}}
	for _, g := range all {
		if g.Damaged != "" {
			l.Lines = append(l.Lines, []any{int64(g.ID), "", "", "", "", "damaged"})
			continue
		}
		l.Lines = append(l.Lines, []any{int64(g.ID), g.Time.UTC().Format(time.RFC3339), g.Size, g.NewBytes, int64(g.Files), "ok"})
	}
	return l
}

func (s *Session) restore(ctx context.Context, st *ql.Restore) (exec.Result, error) {
	if strings.Contains(st.To, "://") {
		return nil, fmt.Errorf("restore: it makes a database in a directory; smolwc copy brings that to %s", st.To)
	}
	from, err := archive.Local{DB: s.db}.Target(ctx, st.From)
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	o := archive.RestoreOptions{Options: s.travel(st.Travel), Overwrite: st.Overwrite}
	if st.At != nil {
		_, err := s.restoreMoment(ctx, a, st.At, st.To, o)
		return &exec.Done{}, err
	}
	res, err := a.Restore(ctx, st.Generation, st.To, o)
	if err != nil {
		return nil, err
	}
	s.note("restored backup %d of %s to %s: %s, %s, in %s", res.ID, lex.FormatTimestamp(cells.TimestampOf(res.Time), nil), st.To, plural(res.Files, "file"), size(res.Size), elapsed(res.Elapsed))
	return &exec.Done{}, nil
}

// positions are below this number, and times in microseconds above it.
const positions = 1_000_000_000_000_000

// restoreMoment restores a moment to a directory, and says what it reads and what it has reached.
func (s *Session) restoreMoment(ctx context.Context, a *archive.Archive, at *lex.Time, dir string, o archive.RestoreOptions) (moments.Restored, error) {
	ts, err := at.Resolve(s.db.Now())
	if err != nil {
		return moments.Restored{}, err
	}
	m := moments.Moment{Time: ts.Time()}
	if !at.Now && ts > 0 && ts < positions {
		m = moments.Moment{Position: uint64(ts)}
	}
	planned := func(p moments.Plan) error {
		s.note("reading backup %d, %s, and %s of the log, %s", p.Backup.ID, size(p.Backup.Size), plural(p.Segments, "segment"), size(p.Bytes))
		return nil
	}
	res, err := moments.Restore(ctx, a, m, dir, moments.RestoreOptions{RestoreOptions: o, Planned: planned})
	if err != nil {
		return res, err
	}
	s.note("restored the moment %s to %s: position %d, whose last commit was at %s; %s replayed in %s", lex.FormatTimestamp(cells.TimestampOf(res.Until), s.runner.Zone), dir,
		res.Position, lex.FormatTimestamp(cells.TimestampOf(res.Time), s.runner.Zone), plural(res.Records, "record"), elapsed(res.Elapsed))
	for _, family := range slices.Sorted(maps.Keys(res.Expires)) {
		s.note("cells of %s expire after %s, by the clock of now: older ones are not shown", family, schema.FormatAge(res.Expires[family]))
	}
	return res, nil
}

// restoreTable restores the backup, or the moment, to a directory for temporary files, and copies the
// table from there.
func (s *Session) restoreTable(ctx context.Context, st *ql.RestoreTable) (_ exec.Result, err error) {
	began := time.Now()
	temporary, err := os.MkdirTemp("", "smolwc-restore-")
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(temporary)) }()
	from, err := archive.Local{DB: s.db}.Target(ctx, st.From)
	if err != nil {
		return nil, err
	}
	a, err := archive.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(temporary, "backup")
	o, of, source := archive.RestoreOptions{Options: s.travel(st.Travel)}, time.Time{}, ""
	if st.At != nil {
		res, err := s.restoreMoment(ctx, a, st.At, dir, o)
		if err != nil {
			return nil, err
		}
		of, source = res.Until, "the restored moment"
	} else {
		res, err := a.Restore(ctx, st.Generation, dir, o)
		if err != nil {
			return nil, err
		}
		of, source = res.Time, fmt.Sprintf("backup %d", res.ID)
	}
	db, err := query.OpenReadOnly(dir, query.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, db.Close()) }()
	if _, there := db.LookupTable(st.Table.Text); !there {
		return nil, &lex.Error{Pos: st.Table.Pos, Msg: fmt.Sprintf("%s has no table %s%s", source, lex.QuoteText(st.Table.Text), schema.DidYouMean(st.Table.Text, namesOf(db.Schema())))}
	}
	name := cmp.Or(st.As.Text, st.Table.Text)
	if err := s.db.CopyTable(ctx, name, db.Table(st.Table.Text), nil); err != nil {
		return nil, err
	}
	s.note("restored table %s as of %s in %s", name, lex.FormatTimestamp(cells.TimestampOf(of), s.runner.Zone), elapsed(time.Since(began)))
	return &exec.Done{}, nil
}

func (s *Session) verify(ctx context.Context, st *ql.Verify) (exec.Result, error) {
	res, err := s.operator().VerifyBackups(ctx, st.In, s.travel(st.Travel))
	if len(res.Damage) > 1 {
		for _, d := range res.Damage {
			s.note("%s", lex.Escape(d.Error()))
		}
	}
	if err != nil {
		return nil, err
	}
	s.note("verified %s: %s, %s, in %s", plural(res.Generations, "backup"), plural(res.Objects, "file"), size(res.Bytes), elapsed(res.Elapsed))
	if s.opt.Remote != nil {
		if st.Sample > 0 {
			return nil, errors.New("verify: sample restores moments where it runs, and not at a server; name the target without --addr")
		}
		return &exec.Done{}, nil
	}
	return &exec.Done{}, s.verifyMoments(ctx, st)
}

// verifyMoments verifies the segments of the log, if there are some.
func (s *Session) verifyMoments(ctx context.Context, st *ql.Verify) error {
	a, err := s.archive(ctx, st.In)
	if err != nil {
		return err
	}
	r, err := moments.Verify(ctx, a, moments.VerifyOptions{Options: s.travel(st.Travel), Sample: st.Sample})
	if len(r.Damage) > 1 {
		for _, d := range r.Damage {
			s.note("%s", lex.Escape(d.Error()))
		}
	}
	if err != nil {
		return err
	}
	if r.Segments > 0 {
		s.note("verified %s of the log, %s, %s, in %s", plural(r.Segments, "segment"), size(r.Bytes), plural(r.Records, "record"), elapsed(r.Elapsed))
		s.noteMoments(r)
	}
	if r.Samples > 0 {
		s.note("restored and checked %s", plural(r.Samples, "random moment"))
	}
	return nil
}
