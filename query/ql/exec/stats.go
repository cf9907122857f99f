package exec

import (
	"context"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql"
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
	}
	res.Families = &Listing{Columns: []string{"table", "family", "bytes", "files", "cells", "tombstones", "memory", "pending"}}
	for _, f := range families {
		res.Families.Lines = append(res.Families.Lines, []any{f.Table, f.Family, f.Bytes(), f.Files(), f.Cells(), f.Tombstones, f.MemtableBytes, f.PendingBytes})
	}
	return res, nil
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
