package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
)

// noStandbys refuses the calls of standbys.
type noStandbys struct{ smolwcpb.UnsafeStandbysServer }

var errNoStandbys = status.Error(codes.FailedPrecondition, "this server takes no standbys: they need a database in a directory")

func (noStandbys) Copy(*smolwcpb.CopyRequest, grpc.ServerStreamingServer[smolwcpb.CopyResponse]) error {
	return errNoStandbys
}

func (noStandbys) Load(*smolwcpb.LoadRequest, grpc.ServerStreamingServer[smolwcpb.CopyResponse]) error {
	return errNoStandbys
}

func (noStandbys) Follow(s grpc.BidiStreamingServer[smolwcpb.FollowRequest, smolwcpb.FollowResponse]) error {
	if _, err := s.Recv(); err != nil { // which checks the client's rights
		return err
	}
	return errNoStandbys
}

func (noStandbys) ListReplicas(context.Context, *smolwcpb.ListReplicasRequest) (*smolwcpb.ListReplicasResponse, error) {
	return nil, errNoStandbys
}

func (noStandbys) Promote(context.Context, *smolwcpb.PromoteRequest) (*smolwcpb.PromoteResponse, error) {
	return nil, errNoStandbys
}

func (noStandbys) Switchover(context.Context, *smolwcpb.SwitchoverRequest) (*smolwcpb.SwitchoverResponse, error) {
	return nil, errNoStandbys
}

func (noStandbys) Fence(context.Context, *smolwcpb.FenceRequest) (*smolwcpb.FenceResponse, error) {
	return nil, errNoStandbys
}

func (noStandbys) Sums(s grpc.BidiStreamingServer[smolwcpb.SumsRequest, smolwcpb.SumsResponse]) error {
	if _, err := s.Recv(); err != nil { // which checks the client's rights
		return err
	}
	return errNoStandbys
}

func (noStandbys) Verify(*smolwcpb.VerifyRequest, grpc.ServerStreamingServer[smolwcpb.VerifyResponse]) error {
	return errNoStandbys
}

// replicas describes the server's standbys, and itself as one; nil without
// standbys.
func (s *Server) replicas(ctx context.Context) (*smolwcpb.ListReplicasResponse, error) {
	if s.standbys == nil {
		return nil, nil
	}
	return s.standbys.ListReplicas(ctx, new(smolwcpb.ListReplicasRequest))
}

// collectReplicas gives the figures of replication.
func (s *Server) collectReplicas(ctx context.Context, out chan<- prometheus.Metric) {
	all, err := s.replicas(ctx)
	if all == nil || err != nil || all.GetEpoch() == 0 && all.GetLease() == nil {
		return
	}
	give := func(name, help string, value float64, labels ...string) {
		var names []string
		if len(labels) > 0 {
			names = []string{"standby", "address"}
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("smolwc_"+name, help, names, nil), figure{name: name}.kind(), value, labels...)
	}
	if l := all.GetLease(); l != nil {
		give("lease_held", "1 while this server holds the lease without which it takes no writes; 0 otherwise.", oneIf(l.GetHeld()))
		give("lease_left_seconds", "After this time the server takes no writes, unless the lease is renewed.", lagOf(l.GetLeftMicros()).Seconds())
		give("lease_judge_connected", "1 while etcd answers; 0 otherwise.", oneIf(l.GetError() == ""))
	}
	if all.GetEpoch() == 0 {
		return
	}
	give("epoch", "The epoch of the database, which grows with each promotion.", float64(all.GetEpoch()))
	give("position", "The position of the newest write.", float64(all.GetPosition()))
	give("fenced", "1 when another server was promoted in the place of this one, which takes no writes; 0 otherwise.", oneIf(all.GetFencedBy() != ""))
	give("untold_primaries", "Old primaries that may not have been fenced, and may accept writes.", float64(len(all.GetUntold())))
	give("diverged_directories", "Directories that were kept aside, since they may have rows that the primary does not have; with 4 of them no standby is rebuilt here until one is moved away.", float64(len(all.GetDiverged())))
	give("replicas", "Standbys that are connected.", float64(len(all.GetReplicas())))
	for who, r := range furthestBehind(all.GetReplicas()) {
		give("replica_behind_records", "Changes that the standby does not have yet.", float64(r.GetBehindRecords()), who[:]...)
		give("replica_behind_bytes", "Bytes of the log that were not sent to the standby yet.", float64(r.GetBehindBytes()), who[:]...)
		give("replica_lag_seconds", "How long ago the standby had everything.", lagOf(r.GetLagMicros()).Seconds(), who[:]...)
	}
	if mode := all.GetSemiSync(); mode != "" && mode != "off" {
		give("semi_sync_acks", "Standbys that must have a write before it returns.", float64(max(all.GetAcks(), 1)))
		give("semi_sync_standbys", "Connected standbys whose acknowledgements count. With fewer than smolwc_semi_sync_acks, strict writes fail.", float64(all.GetAcknowledging()))
		give("semi_sync_degraded", "1 while writes return without waiting for a standby, although they should wait; 0 otherwise.", oneIf(all.GetDegraded()))
		give("semi_sync_unacknowledged_total", "Writes that have returned without a standby, although they should have waited for one.", float64(all.GetUnacknowledged()))
	}
	if !all.GetStandby() {
		return
	}
	give("standby_connected", "1 while this standby is connected to its primary; 0 otherwise.", oneIf(all.GetConnected()))
	give("standby_lag_seconds", "How long ago this standby had everything that its primary has.", lagOf(all.GetLagMicros()).Seconds())
	give("standby_rebuilds_total", "How often this standby was rebuilt.", float64(all.GetRebuilds()))
	give("standby_verify_differences_total", "Verifications that have found a difference from the primary.", float64(all.GetDiffered()))
	if all.GetDelayMicros() > 0 {
		give("standby_delay_seconds", "How long this standby waits before it applies a record.", lagOf(all.GetDelayMicros()).Seconds())
		give("standby_delayed_bytes", "Bytes on the disk of records that this standby has not applied yet.", float64(all.GetDelayedBytes()))
		if since := all.GetDelayedSinceMicros(); since > 0 {
			give("standby_delayed_earliest_timestamp_seconds", "The earliest moment to which this standby can be promoted, in seconds since 1970.", float64(since)/1e6)
		}
	}
	v := all.GetVerified()
	if v == nil {
		return
	}
	equal := 0.0
	if v.GetDifference() == "" {
		equal = 1
	}
	give("standby_verify_equal", "1 if the last verification found this standby equal to its primary; 0 otherwise.", equal)
	give("standby_verify_timestamp_seconds", "When the last verification began, in seconds since 1970.", float64(v.GetBeganMicros())/1e6)
	give("standby_verify_duration_seconds", "How long the last verification took.", lagOf(v.GetTookMicros()).Seconds())
	give("standby_verify_tables", "Tables that the last verification compared.", float64(max(len(v.GetTables())-1, 0)))
}

// furthestBehind are the figures of standbys by their names and machines: the largest ones,
// where several have one name. Ports change with each connection.
func furthestBehind(all []*smolwcpb.Replica) map[[2]string]*smolwcpb.Replica {
	most := map[[2]string]*smolwcpb.Replica{}
	for _, r := range all {
		host, _, err := net.SplitHostPort(r.GetAddress())
		if err != nil {
			host = r.GetAddress()
		}
		who := [2]string{r.GetName(), host}
		m := most[who]
		most[who] = &smolwcpb.Replica{
			BehindRecords: max(r.GetBehindRecords(), m.GetBehindRecords()),
			BehindBytes:   max(r.GetBehindBytes(), m.GetBehindBytes()),
			LagMicros:     max(r.GetLagMicros(), m.GetLagMicros()),
		}
	}
	return most
}

// oneIf is a condition as a figure.
func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// unled says why a primary takes no writes because it does not hold its lease, "" if it does.
func (s *Server) unled(ctx context.Context) string {
	all, err := s.replicas(ctx)
	l := all.GetLease()
	if err != nil || l == nil || l.GetHeld() || all.GetStandby() {
		return ""
	}
	why := "the database takes no writes now: this server does not hold the lease"
	switch {
	case l.GetError() != "":
		why += ", and etcd does not answer: " + l.GetError()
	case l.GetLeader() != "":
		why += ", which " + l.GetLeader() + " holds"
	}
	return why
}

func lagOf(micros int64) time.Duration { return time.Duration(micros) * time.Microsecond }

// late says why a standby is too far behind for a client, "" when it is not.
func (s *Server) late(ctx context.Context, asked url.Values) string {
	if !asked.Has("max-lag") {
		return ""
	}
	most, err := time.ParseDuration(asked.Get("max-lag"))
	if err != nil || most < 0 {
		return fmt.Sprintf("max-lag is %q; want a duration such as 5s", asked.Get("max-lag"))
	}
	all, err := s.replicas(ctx)
	if err != nil {
		return "the database does not answer: " + err.Error()
	}
	if lag := lagOf(all.GetLagMicros()); all.GetStandby() && lag > most {
		return fmt.Sprintf("the standby is %v behind its primary", lag.Round(time.Millisecond))
	}
	return ""
}

// follows says which other server takes the writes, "" if this one does.
func (s *Server) follows(asked url.Values) string {
	if !asked.Has("leader") || s.standbys == nil || s.standbys.Leads() {
		return ""
	}
	return "the server takes no writes; they go to " + cmp.Or(s.standbys.Leader(), "another one, which it does not know")
}
