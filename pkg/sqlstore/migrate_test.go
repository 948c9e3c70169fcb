package sqlstore_test

import (
	"sync"
	"testing"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

func TestMigrateAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(1)
		f.store(order(1, 1, v))
		require.NoError(t, f.Migrate(t.Context()))
		f.requireBooks(v, 0)
	})
}

func TestMigrateFromManyNodesAtOnce(t *testing.T) {
	t.Parallel()
	dsn := sqltest.New(t)
	var group sync.WaitGroup
	for range 8 {
		node, err := sqlstore.OpenMySQL(dsn, sqlstore.Options{MaxOpenConns: 1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, node.Close()) })
		group.Go(func() {
			if err := node.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var again, locks int
	const query = "SELECT COUNT(*) - COUNT(DISTINCT version_id), (SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state = 'User lock') FROM seckill_schema WHERE version_id > 0"
	require.NoError(t, open(t, dsn).QueryRowContext(t.Context(), query).Scan(&again, &locks))
	require.Zero(t, again, "one of them did the work")
	require.Zero(t, locks)
}

func TestMigrateNeedsTwoConnectionsOfAForeignPool(t *testing.T) {
	t.Parallel()
	db := open(t, sqltest.New(t))
	narrow := sqlstore.New(db, sqlstore.MySQL, sqlstore.Options{MaxOpenConns: 1})
	require.ErrorIs(t, narrow.Migrate(t.Context()), seckill.Invalid)
	wide := sqlstore.New(db, sqlstore.MySQL, sqlstore.Options{MaxOpenConns: 2})
	require.NoError(t, wide.Migrate(t.Context()))
}
