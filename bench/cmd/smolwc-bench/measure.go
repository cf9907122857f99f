package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/smolwc/smolwc/bench/contest"
	"github.com/smolwc/smolwc/bench/machine"
	"github.com/smolwc/smolwc/bench/peers"
	"github.com/smolwc/smolwc/bench/report"
	"github.com/smolwc/smolwc/bench/workload"
)

// measure runs the selected workloads.
func (o *options) measure(ctx context.Context, stdout io.Writer) (err error) {
	e, err := o.env()
	if err != nil {
		return err
	}
	ws, err := o.workloads(ctx, e)
	if err != nil {
		return err
	}
	if o.list {
		return list(stdout, ws)
	}
	if e.Dir == "" {
		if e.Dir, err = os.MkdirTemp(o.temp, "smolwc-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(e.Dir)) }()
	}
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o777); err != nil {
			return err
		}
	}
	run := contest.Options{Rounds: o.rounds, Profiles: o.profiles}
	if o.cold {
		run.Before = func() error { return machine.Forget(e.Dir) }
	}
	return contest.RunAll(ctx, ws, run, o.report(stdout))
}

// env returns the environment that workloads share.
func (o *options) env() (*workload.Env, error) {
	e := workload.DefaultEnv(o.dir, int(o.cells))
	e.Memory, e.Flights = int64(o.memory), o.flights
	if o.writes > 0 {
		e.Writes = int(o.writes)
	}
	if o.ops > 0 {
		e.Ops = int(o.ops)
	}
	var err error
	if e.Peers, err = choose(o.peers); err != nil {
		return nil, err
	}
	e.Engines = strings.Split(o.engines, ",")
	for _, name := range e.Engines {
		if !slices.Contains(workload.Engines, name) {
			return nil, wrongUsage("-engine: unknown engine %q; there are %s", name, strings.Join(workload.Engines, ", "))
		}
	}
	return e, nil
}

// workloads returns the workloads that match -run, on generated data or on the user's
// table.
func (o *options) workloads(ctx context.Context, e *workload.Env) ([]contest.Workload, error) {
	wanted, err := regexp.Compile(o.run)
	if err != nil {
		return nil, wrongUsage("-run: %w", err)
	}
	ws := e.Workloads()
	if o.table != "" {
		e.Peers = nil // peers have no copy of the table
		if ws, err = e.TableWorkloads(ctx, o.db, o.table); err != nil {
			return nil, err
		}
	}
	ws = slices.DeleteFunc(ws, func(w contest.Workload) bool { return !wanted.MatchString(w.Name) })
	if len(ws) == 0 {
		return nil, wrongUsage("-run: no workload has a name that matches %q; -list names them", o.run)
	}
	return ws, nil
}

func (o *options) report(w io.Writer) report.Report {
	switch {
	case o.json:
		return report.NewJSON(w)
	case o.benchstat:
		return report.NewBenchstat(w)
	}
	return report.NewTable(w)
}

func list(w io.Writer, ws []contest.Workload) error {
	for _, l := range ws {
		if _, err := fmt.Fprintf(w, "%-22s %s\n", l.Name, l.About); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the peers with these names.
func choose(names string) (chosen []workload.Peer, err error) {
	all := peers.All()
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		i := slices.IndexFunc(all, func(p workload.Peer) bool { return p.Name == name })
		if i < 0 {
			return nil, wrongUsage("-peers: unknown peer %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
