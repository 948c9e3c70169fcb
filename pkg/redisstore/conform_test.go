package redisstore

import (
	"context"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
)

// shared is the cluster of TestOnCluster while that runs; what it runs opens its stores there.
var shared *redistest.Cluster

// What a store does on one server it does on a cluster.
func TestOnCluster(t *testing.T) {
	shared = redistest.NewCluster(t, 0, redistest.Options{})
	t.Cleanup(func() { shared = nil })
	for _, test := range []func(*testing.T){
		TestAdmitAnswers, TestAdmitLargeIDs, TestAdmitRush, TestAdmitAfterScriptFlush, TestAdmitRushWhileScriptsAreFlushed,
		TestChange, TestChangeOverridesACutOfItsVersion, TestCut, TestChangeAndCutArePublished, TestClock,
		TestDead, TestDropDead, TestReplay, TestReplayAfterCrash, TestReplayRefused, TestReplayTogether,
		TestPublishEvents, TestPublishEventsInOrder, TestTrimEventsNobodyReads,
		TestStreamInfo, TestStreamInfoOldest, TestStreamInfoUnknownLag, TestStreamInfoLagOutOfOrder, TestRetire,
		TestListen, TestLock, TestLockWaits, TestUnlockComparesToken, TestLockIsRenewed, TestReleaseStopsRenewal, TestWithLocks,
		TestRelease, TestReleaseWhere, TestAdopt, TestRequeue, TestMark,
		TestReadBacklog, TestReadHeals, TestClaim, TestReadOwn, TestReread, TestSettle, TestSettleTakesWhatIsSettled,
		TestSettleLeavesWhatWasPassedOver, TestReadMalformed, TestBury, TestTries, TestAnnounce,
		TestSyncSteps, TestOpenSaleRefuses, TestLoadDropsForeignTypes, TestLeft,
	} {
		t.Run(nameOf(t, test), test)
	}
}

func nameOf(t *testing.T, test func(*testing.T)) string {
	t.Helper()
	name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
	return name[strings.LastIndex(name, ".Test")+len(".Test"):]
}

// onShared returns a store of one partition on the shared cluster, whose keys are all gone,
// and a client of the node that has them, which adds the partition to the names it is given.
func onShared(t *testing.T) (*Store, *redis.Client) {
	t.Helper()
	for _, node := range shared.Nodes {
		require.NoError(t, node.ClientOf(t).FlushAll(t.Context()).Err())
	}
	s := openAt(t, Options{Addrs: shared.Addrs()[:1], Partitions: 1})
	require.NoError(t, s.Ping(t.Context()))
	owner, err := shared.Owner(t.Context(), s.keys.stream(0))
	require.NoError(t, err)
	c := owner.ClientOf(t)
	c.AddHook(tagging{})
	return s, c
}

type tagging struct{}

var (
	ofPartition = regexp.MustCompile(`^(seckill:(?:stream|dead|events|tries|replays|server))$`)
	ofOne       = regexp.MustCompile(`^(seckill:(?:stock|order|ticket|voucher)|lock:(?:order|sync)):(\d+)$`)
)

func (tagging) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h tagging) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return next(ctx, h.tag(cmd)) }
}

func (h tagging) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h.tag(cmd)
		}
		return next(ctx, cmds)
	}
}

func (tagging) tag(cmd redis.Cmder) redis.Cmder {
	for i, arg := range cmd.Args() {
		if name, ok := arg.(string); ok {
			cmd.Args()[i] = ofOne.ReplaceAllString(ofPartition.ReplaceAllString(name, "$1:{0}"), "$1:{0}:$2")
		}
	}
	return cmd
}
