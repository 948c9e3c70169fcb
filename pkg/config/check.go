package config

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// The bounds of the settings.
const (
	secretMin     = 32 // bytes: as many as HS256 makes of them
	partitionsMax = 1024
	batchMax      = 4096
	lockTTLMin    = 100 * time.Millisecond // a third of it must leave time for a renewal
	claimIdleMin  = time.Second
	payTimeoutMin = time.Second
	rateMax       = 1_000_000
	admitMax      = 1_000_000
	waitMin       = time.Millisecond // the unit in which Redis counts
	waitMax       = time.Second      // a buyer waits 2 s in all
)

func (a API) check(f *faults) {
	a.Redis.check(f)
	a.MySQL.check(f)
	a.JWT.check(f)
	a.JWT.checkFile(f)
	a.Log.check(f)
	f.unless(a.ReceiptSecret == "" || len(a.ReceiptSecret) >= secretMin, "SECKILL_RECEIPT_SECRET", "has %d bytes and needs at least %d", len(a.ReceiptSecret), secretMin)
	f.unless(isListen(a.HTTPAddr), "SECKILL_HTTP_ADDR", "is no host:port")
	f.unless(isListen(a.OpsAddr), "SECKILL_OPS_ADDR", "is no host:port")
	f.unless(a.RatePerUser >= 0 && a.RatePerUser <= rateMax, "SECKILL_RATE_PER_USER", "is not from 0 to %d", rateMax)
	f.unless(a.AdmitMax >= 1 && a.AdmitMax <= admitMax, "SECKILL_ADMIT_MAX", "is not from 1 to %d", admitMax)
	for _, p := range a.TrustedProxies {
		f.unless(isProxy(p), "SECKILL_TRUSTED_PROXIES", "holds %q, which is no address or network", p)
	}
	for _, o := range a.CORSOrigins {
		f.unless(isOrigin(o), "SECKILL_CORS_ORIGINS", "holds %q, which is no origin such as https://shop.example, or *", o)
	}
	f.unless(a.HTTPAddr != a.OpsAddr || isAnyPort(a.OpsAddr), "SECKILL_OPS_ADDR", "is SECKILL_HTTP_ADDR, too: operations need an address of their own")
}

func isProxy(s string) bool {
	_, err := netip.ParsePrefix(s)
	if err != nil {
		_, err = netip.ParseAddr(s)
	}
	return err == nil
}

func (w Worker) check(f *faults) {
	w.Redis.check(f)
	w.MySQL.check(f)
	w.Log.check(f)
	f.unless(isListen(w.OpsAddr), "SECKILL_OPS_ADDR", "is no host:port")
	f.unless(w.BatchMax >= 1 && w.BatchMax <= batchMax, "SECKILL_BATCH_MAX", "is not from 1 to %d", batchMax)
	f.unless(w.AttemptsMax >= 1, "SECKILL_ATTEMPTS_MAX", "is not 1 or more")
	f.unless(w.LockTTL >= lockTTLMin, "SECKILL_LOCK_TTL", "is shorter than %v", lockTTLMin)
	f.unless(w.ClaimIdle >= claimIdleMin, "SECKILL_CLAIM_IDLE", "is shorter than %v", claimIdleMin)
	// Whoever takes over a dead worker's orders would find them locked still.
	f.unless(w.ClaimIdle > w.LockTTL, "SECKILL_CLAIM_IDLE", "is not longer than SECKILL_LOCK_TTL, %v", w.LockTTL)
	f.unless(w.PayTimeout == 0 || w.PayTimeout >= payTimeoutMin, "SECKILL_PAY_TIMEOUT", "is neither 0 nor at least %v", payTimeoutMin)
	f.unless(isConsumer(w.Consumer), "SECKILL_CONSUMER", "is not at most %d of the characters a-z A-Z 0-9 . _ -", consumerMax)
}

func (m Migrate) check(f *faults) {
	m.MySQL.check(f)
	m.Log.check(f)
}

func (r Redis) check(f *faults) {
	several := len(r.Addrs) > 1
	for _, a := range r.Addrs {
		f.unless(isDial(a), "SECKILL_REDIS_ADDRS", "holds %q, which is no host:port", a)
		several = several && isDial(a) // else how many are meant is not known
	}
	f.unless(r.DB >= 0, "SECKILL_REDIS_DB", "is not 0 or more")
	f.unless(r.Partitions >= 0 && r.Partitions <= partitionsMax, "SECKILL_PARTITIONS", "is not from 0 to %d", partitionsMax)
	f.unless(r.WaitReplicas >= 0, "SECKILL_REDIS_WAIT_REPLICAS", "is not 0 or more")
	f.unless(r.WaitTimeout >= waitMin && r.WaitTimeout <= waitMax, "SECKILL_REDIS_WAIT_TIMEOUT", "is not from %v to %v", waitMin, waitMax)
	if several && r.Master == "" {
		f.unless(r.DB == 0, "SECKILL_REDIS_DB", "is not 0, the only one a cluster has")
		f.unless(r.Partitions != 0, "SECKILL_PARTITIONS", "is 0, but several SECKILL_REDIS_ADDRS are a cluster, which needs 1 or more (or, if they are Sentinels, SECKILL_REDIS_MASTER)")
	}
}

func (m MySQL) check(f *faults) {
	f.unless(m.DSN != "", "SECKILL_MYSQL_DSN", "is required")
	c, err := mysql.ParseDSN(m.DSN.Reveal())
	f.unless(err == nil, "SECKILL_MYSQL_DSN", "is not of the form user:password@tcp(host:port)/database?name=value, with special characters of the password as they are")
	f.unless(err != nil || c.DBName != "", "SECKILL_MYSQL_DSN", "names no database")
}

func (j JWT) check(f *faults) {
	keys := j.File != "" || j.URL != ""
	f.unless(keys || j.Secret != "", "SECKILL_JWT_SECRET", "is required, or SECKILL_JWKS_FILE or SECKILL_JWKS_URL")
	f.unless(j.Secret == "" || len(j.Secret) >= secretMin, "SECKILL_JWT_SECRET", "has %d bytes and needs at least %d", len(j.Secret), secretMin)
	f.unless(j.File == "" || j.URL == "", "SECKILL_JWKS_URL", "is set beside SECKILL_JWKS_FILE: one of them says which keys count")
	f.unless(j.URL == "" || isHTTP(j.URL.Reveal()), "SECKILL_JWKS_URL", "is no address with http:// or https://")
}

// checkFile is for whoever reads the keys: `api token` signs, perhaps on another machine.
func (j JWT) checkFile(f *faults) {
	if j.File == "" {
		return
	}
	_, err := os.ReadFile(j.File)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the value is shown already
	}
	f.unless(err == nil, "SECKILL_JWKS_FILE", "cannot be read: %v", err)
}

func (s signing) check(f *faults) {
	f.unless(s.JWT.Secret != "", "SECKILL_JWT_SECRET", "is required: a JWKS has no key that signs")
	s.JWT.check(f)
}

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// isOrigin accepts an origin as a browser writes it, since it is compared as a text.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return s == "*" || err == nil && isHTTP(s) && s == u.Scheme+"://"+strings.ToLower(u.Host)
}

func (l Log) check(f *faults) {
	f.unless(l.Format == "json" || l.Format == "text", "SECKILL_LOG_FORMAT", "is neither json nor text")
}

// isListen accepts what a server can listen on; without a host it is every interface.
func isListen(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && isPort(port)
}

// isDial accepts what a client can dial, the path of a socket included.
func isDial(addr string) bool {
	if strings.HasPrefix(addr, "/") {
		return true
	}
	host, port, err := net.SplitHostPort(addr)
	return err == nil && host != "" && isPort(port) && port != "0"
}

// isAnyPort reports whether the system chooses the port: two such addresses differ.
func isAnyPort(addr string) bool { return strings.HasSuffix(addr, ":0") }

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}
