package standby_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/standby"
)

// A standby that hangs while it applies a change has a lag, which grows, and its primary
// shows it.
func TestTheLagOfAStandbyThatHangs(t *testing.T) {
	standby.SetSilence(t, time.Hour)
	hold, release := standby.HoldStores(t)
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	awaitPosition(t, p, s)
	await(t, "the standby has no lag", func() bool { lag, connected := s.Lag(); return connected && lag == 0 })
	hold()
	defer release()
	must(t, try(t, p.db, "held"))
	before, _ := s.Lag()
	for range 2 {
		await(t, "the lag does not grow", func() bool { lag, _ := s.Lag(); return lag > before })
		before, _ = s.Lag()
	}
	await(t, "the primary does not show the lag", func() bool {
		all, err := p.primary.Service().ListReplicas(t.Context(), new(smolwcpb.ListReplicasRequest))
		return err == nil && len(all.GetReplicas()) == 1 && all.GetReplicas()[0].GetLagMicros() > 0 && all.GetReplicas()[0].GetBehindRecords() > 0
	})
	release()
	await(t, "the standby has a lag still", func() bool { lag, _ := s.Lag(); return lag == 0 })
}
