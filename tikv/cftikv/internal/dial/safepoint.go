package dial

import (
	"context"
	"crypto/tls"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// A safepoint is a [tikv.SafePointKV]: the small values in PD's etcd by which clients
// learn which snapshots are too old. client-go's own one logs to standard error, and
// cannot be ended.
type safepoint struct {
	etcd *clientv3.Client
	ctx  context.Context
	end  func()
}

// safepointTimeout bounds a request.
const safepointTimeout = 5 * time.Second

func newSafepoint(members []string, secrets *tls.Config) (*safepoint, error) {
	ctx, end := context.WithCancel(context.Background())
	etcd, err := clientv3.New(clientv3.Config{
		Endpoints: members, TLS: secrets, Context: ctx, Logger: zap.NewNop(),
		DialTimeout: safepointTimeout, AutoSyncInterval: 30 * time.Second,
		DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: keepAliveTimeout,
	})
	if err != nil {
		end()
		return nil, err
	}
	return &safepoint{etcd, ctx, end}, nil
}

func (s *safepoint) Put(k, v string) error {
	ctx, cancel := context.WithTimeout(s.ctx, safepointTimeout)
	defer cancel()
	_, err := s.etcd.Put(ctx, k, v)
	return err
}

func (s *safepoint) Get(k string) (string, error) {
	found, err := s.get(k)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return string(found[0].Value), nil
}

func (s *safepoint) GetWithPrefix(k string) ([]*mvccpb.KeyValue, error) {
	return s.get(k, clientv3.WithPrefix())
}

func (s *safepoint) get(k string, o ...clientv3.OpOption) ([]*mvccpb.KeyValue, error) {
	ctx, cancel := context.WithTimeout(s.ctx, safepointTimeout)
	defer cancel()
	answer, err := s.etcd.Get(ctx, k, o...)
	if err != nil {
		return nil, err
	}
	return answer.Kvs, nil
}

func (s *safepoint) Close() error {
	s.end()
	if err := s.etcd.Close(); err != context.Canceled {
		return err
	}
	return nil
}
