package server

import (
	"slices"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/query"
)

// SampleRowKeys returns row keys that divide the table into parts of about the
// same size, the keys that the table was created to be split at among them, and
// last the end of the table, whose key is empty.
func (s *dataService) SampleRowKeys(req *bigtablepb.SampleRowKeysRequest, stream bigtablepb.Bigtable_SampleRowKeysServer) error {
	if req.GetMaterializedViewName() != "" {
		return status.Error(codes.Unimplemented, "there are no materialized views")
	}
	t, err := s.open(req)
	if err != nil {
		return err
	}
	samples, err := t.SampleRowKeys(stream.Context())
	if err != nil {
		return t.toStatus(stream.Context(), err)
	}
	for _, p := range withSplits(samples, s.notes.splits(t.name.stored)) {
		if err := stream.Send(&bigtablepb.SampleRowKeysResponse{RowKey: []byte(p.Key), OffsetBytes: p.OffsetBytes}); err != nil {
			return err
		}
	}
	return nil
}

// withSplits puts row keys among samples, at the offset of the sample before.
// The last sample, the end of the table, stays last.
func withSplits(samples []query.RowKeySample, splits []string) []query.RowKeySample {
	for _, key := range splits {
		end := len(samples) - 1
		i, found := slices.BinarySearchFunc(samples[:end], key, func(s query.RowKeySample, key string) int {
			switch {
			case s.Key < key:
				return -1
			case s.Key > key:
				return 1
			}
			return 0
		})
		if found {
			continue
		}
		var offset int64
		if i > 0 {
			offset = samples[i-1].OffsetBytes
		}
		samples = slices.Insert(samples, i, query.RowKeySample{Key: key, OffsetBytes: offset})
	}
	return samples
}
