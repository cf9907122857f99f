package catalog

import (
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/smolwc/smolwc/api/wire"
)

// BackupEvery is how often a table with an automated backup policy is backed up: the
// only frequency in Bigtable.
const BackupEvery = 24 * time.Hour

// The bounds of a policy of automated backups.
const (
	day           = 24 * time.Hour
	minBackupKeep = 3 * day
	maxBackupKeep = 90 * day
	maxBackupHot  = 10 * day
)

// Policy is the policy by which automated backups of the table are made; nil if they are
// not made.
func (n *Note) Policy() *adminpb.Table_AutomatedBackupPolicy {
	if p := n.Table.GetAutomatedBackupPolicy(); !p.GetDisabled() {
		return p
	}
	return nil
}

// BackupKeep is how long the backups of a policy are kept. An earlier smolwc stored
// policies unchecked.
func BackupKeep(p *adminpb.Table_AutomatedBackupPolicy) time.Duration {
	return min(max(p.GetRetentionPeriod().AsDuration(), minBackupKeep), maxBackupKeep)
}

// setPolicy copies the policy of automated backups, or with the name of a field that field
// alone.
func (n *Note) setPolicy(field string, from *adminpb.Table) error {
	given := from.GetAutomatedBackupPolicy()
	if field == "" && given == nil {
		n.Table.AutomatedBackupConfig = nil
		return nil
	}
	next := given
	if field != "" {
		next = &adminpb.Table_AutomatedBackupPolicy{}
		if old := n.Table.GetAutomatedBackupPolicy(); old != nil {
			next = proto.Clone(old).(*adminpb.Table_AutomatedBackupPolicy)
		}
		f := next.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(field))
		switch {
		case f == nil:
			return wire.Invalid("incorrect path in UpdateMask; an automated backup policy has no field %q", field)
		case given.ProtoReflect().Has(f):
			next.ProtoReflect().Set(f, given.ProtoReflect().Get(f))
		default:
			next.ProtoReflect().Clear(f)
		}
	}
	if err := checkPolicy(next); err != nil {
		return err
	}
	n.Table.AutomatedBackupConfig = &adminpb.Table_AutomatedBackupPolicy_{AutomatedBackupPolicy: next}
	return nil
}

// checkPolicy checks a policy of automated backups as Bigtable does.
func checkPolicy(p *adminpb.Table_AutomatedBackupPolicy) error {
	const what = "automated_backup_policy"
	if p == nil || p.GetDisabled() && p.GetRetentionPeriod() == nil {
		return nil
	}
	keep, hot := p.GetRetentionPeriod(), p.GetKeepHotDuration()
	switch {
	case keep == nil:
		return wire.Invalid("%s: retention_period is required, from 3 to 90 days", what)
	case !within(keep, minBackupKeep, maxBackupKeep):
		return wire.Invalid("%s: retention_period is %v; it must be from 3 to 90 days", what, keep.AsDuration())
	case p.GetFrequency() != nil && !within(p.GetFrequency(), BackupEvery, BackupEvery):
		return wire.Invalid("%s: frequency is %v; the only frequency is 24 hours", what, p.GetFrequency().AsDuration())
	case hot != nil && !within(hot, day, min(maxBackupHot, keep.AsDuration())):
		return wire.Invalid("%s: keep_hot_duration is %v; it must be from 24 hours to 10 days, and no longer than retention_period", what, hot.AsDuration())
	}
	return nil
}

// minTierAge is from which age on cells may be in the tier for infrequent access.
const minTierAge = 30 * day

// checkTiers checks rules of storage tiers. They have no effect, since there is only one
// tier.
func checkTiers(c *adminpb.TieredStorageConfig) error {
	age := c.GetInfrequentAccess().GetIncludeIfOlderThan()
	switch {
	case c == nil:
		return nil
	case age == nil:
		return wire.Invalid("tiered_storage_config: infrequent_access must have include_if_older_than; leave the whole field out to have no tiers")
	case age.CheckValid() != nil || age.AsDuration() < minTierAge:
		return wire.Invalid("tiered_storage_config: include_if_older_than is %v; it must be at least 30 days", age.AsDuration())
	}
	return nil
}

func within(d *durationpb.Duration, least, most time.Duration) bool {
	return d.CheckValid() == nil && d.AsDuration() >= least && d.AsDuration() <= most
}
