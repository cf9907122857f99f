package statements

import (
	"cmp"
	"context"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/ql/exec"
)

// standbys are the figures of the server's standbys and of itself as one, for stats.
// A database that never had a standby has no such figures.
func (s service) standbys(ctx context.Context) ([]exec.Figure, error) {
	all, err := s.replicas(ctx)
	if err != nil || all.GetEpoch() == 0 {
		return nil, err
	}
	worst := new(smolwcpb.Replica)
	for _, r := range all.GetReplicas() {
		worst.LagMicros = max(worst.LagMicros, r.GetLagMicros())
		worst.BehindRecords = max(worst.BehindRecords, r.GetBehindRecords())
		worst.BehindBytes = max(worst.BehindBytes, r.GetBehindBytes())
	}
	figures := []exec.Figure{
		{Name: "role", Value: role(all)},
		{Name: "epoch", Value: all.GetEpoch()},
		{Name: "position", Value: int64(all.GetPosition())},
		{Name: "standbys", Value: int64(len(all.GetReplicas()))},
		{Name: "standbys_lag", Value: worst.GetLagMicros(), Unit: "us"},
		{Name: "standbys_behind_records", Value: int64(worst.GetBehindRecords())},
		{Name: "standbys_behind", Value: worst.GetBehindBytes(), Unit: "bytes"},
	}
	if all.GetStandby() {
		return append(figures,
			exec.Figure{Name: "lag", Value: all.GetLagMicros(), Unit: "us"},
			exec.Figure{Name: "rebuilds", Value: all.GetRebuilds()}), nil
	}
	return append(figures,
		exec.Figure{Name: "semi_sync", Value: cmp.Or(all.GetSemiSync(), "off")},
		exec.Figure{Name: "semi_sync_acks", Value: int64(max(all.GetAcks(), 1))},
		exec.Figure{Name: "semi_sync_standbys", Value: int64(all.GetAcknowledging())},
		exec.Figure{Name: "semi_sync_degraded", Value: yesOrNo(all.GetDegraded())},
		exec.Figure{Name: "semi_sync_unacknowledged", Value: all.GetUnacknowledged()}), nil
}

func role(all *smolwcpb.ListReplicasResponse) string {
	switch {
	case all.GetFencedBy() != "":
		return "replaced by " + all.GetFencedBy()
	case all.GetStandby():
		return "standby of " + all.GetPrimary()
	}
	return "primary"
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
