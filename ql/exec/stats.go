package exec

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/smolwc/smolwc/api/activity"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
)

func (r *Runner) stats(ctx context.Context, st *ql.Stats) (Result, error) {
	if st.Table.Text != "" {
		if _, err := r.table(st.Table); err != nil {
			return nil, err
		}
	}
	s, err := r.DB.Stats(ctx)
	if err != nil {
		return nil, err
	}
	families := s.Families
	res := &Statistics{Format: st.Format}
	if st.Table.Text != "" {
		families = s.Table(st.Table.Text)
	} else {
		res.Engine = engineFigures(s)
		if r.Standbys != nil {
			more, err := r.Standbys(ctx)
			if err != nil {
				return nil, err
			}
			res.Engine = append(res.Engine, more...)
		}
	}
	res.Families = &Listing{Columns: []string{"table", "family", "bytes", "files", "cells", "tombstones", "memory", "pending"}}
	for _, f := range families {
		res.Families.Lines = append(res.Families.Lines, []any{f.Table, f.Family, f.Bytes(), f.Files(), f.Cells(), f.Tombstones, f.MemtableBytes, f.PendingBytes})
	}
	return res, nil
}

// server is the server of the database, for a statement about it.
func (r *Runner) server(st ql.Statement) (Activity, error) {
	if remote, ok := r.Remote.(Activity); ok {
		return remote, nil
	}
	return nil, lex.ErrorAt(st.Position(), "there is no server here: the database is open in this process; --addr uses one")
}

func (r *Runner) calls(ctx context.Context, st *ql.Calls) (Result, error) {
	server, err := r.server(st)
	if err != nil {
		return nil, err
	}
	all, err := server.Calls(ctx)
	if err != nil {
		return nil, err
	}
	res := &Listing{Columns: []string{"id", "method", "table", "about", "rows", "cells", "written", "ms", "code", "token", "peer"}, Format: st.Format}
	for _, c := range slices.Concat(all.Running, all.Slow) {
		method := c.Method[strings.LastIndexByte(c.Method, '/')+1:]
		res.Lines = append(res.Lines, []any{int64(c.ID), method, c.Table, c.Rows, c.RowsRead, c.CellsRead, c.RowsWritten, float64(c.Took.Microseconds()) / 1000, c.Code, c.Token, c.Peer})
	}
	res.Notes = []string{fmt.Sprintf("%s under way; those with a code have ended", humanize.Count(len(all.Running), "call"))}
	return res, nil
}

func (r *Runner) cancelCall(ctx context.Context, st *ql.CancelCall) (Result, error) {
	server, err := r.server(st)
	if err != nil {
		return nil, err
	}
	return &Done{fmt.Sprintf("cancelled call %d", st.ID)}, server.CancelCall(ctx, st.ID)
}

func (r *Runner) hotKeys(ctx context.Context, st *ql.HotKeys) (Result, error) {
	server, err := r.server(st)
	if err != nil {
		return nil, err
	}
	if st.Table.Text != "" {
		if _, err := r.table(st.Table); err != nil {
			return nil, err
		}
	}
	since, until, err := r.timeRange(st.Since, st.Until)
	if err != nil {
		return nil, err
	}
	want := activity.HeatRequest{Table: st.Table.Text, Rows: st.Limit}
	if st.Limit == ql.Unlimited {
		want.Rows = math.MaxInt32 // the server sets a bound
	}
	if since != 0 {
		want.Since = time.UnixMicro(int64(since))
	}
	if until != 0 {
		want.Until = time.UnixMicro(int64(until))
	}
	heat, err := server.Heat(ctx, want)
	if err != nil {
		return nil, err
	}
	res := &Listing{Columns: []string{"table", "key", "reads", "writes"}, Format: st.Format, Notes: []string{"estimates, from samples"}}
	for _, row := range heat.Rows {
		res.Lines = append(res.Lines, []any{Word(row.Table), keyField(row.Key), int64(row.Reads), int64(row.Writes)})
	}
	return res, nil
}

// keyField is a row key as people write it in a statement.
func keyField(key string) any {
	if utf8.ValidString(key) {
		return Word(key)
	}
	return cells.Bytes([]byte(key))
}

func engineFigures(s *query.Stats) []Figure {
	bytes := func(name string, n int64) Figure { return Figure{name, n, "bytes"} }
	count := func(name string, n int64) Figure { return Figure{name, n, ""} }
	return []Figure{
		bytes("memory", s.Memory.Total()),
		bytes("memory_memtables", s.Memory.Memtables),
		bytes("memory_cache", s.Memory.Cache),
		bytes("memory_readers", s.Memory.Readers),
		bytes("cache_capacity", s.Cache.Capacity),
		bytes("cache_used", s.Cache.Used),
		count("cache_hits", s.Cache.Hits),
		count("cache_misses", s.Cache.Misses),
		{"cache_hit_rate", s.Cache.HitRate(), ""},
		count("filter_checked", s.Filters.Checked),
		count("filter_useful", s.Filters.Useful),
		bytes("written", s.BytesIn),
		bytes("read", s.BytesOut),
		bytes("log", s.Log.Bytes),
		bytes("log_kept", s.Log.Kept),
		bytes("log_written", s.Log.Written),
		count("log_syncs", s.Log.Syncs),
		count("flushes", s.Work.Flushes),
		bytes("flushed", s.Work.FlushedBytes),
		count("compactions", s.Work.Compactions),
		bytes("compacted", s.Work.CompactedBytes),
		count("background_errors", s.Work.Errors),
		{"stall", s.Stalls.State.String(), ""},
		count("stalled_writes", s.Stalls.Count),
		{"stalled_time", s.Stalls.Time.Microseconds(), "us"},
		count("open_snapshots", s.Open.Snapshots),
		count("open_cursors", s.Open.Cursors),
	}
}
