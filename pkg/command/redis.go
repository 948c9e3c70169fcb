package command

import (
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/redisstore"
)

// RedisOptions are those that the settings of every program share. Each adds its own limits.
func RedisOptions(c config.Redis) redisstore.Options {
	return redisstore.Options{
		Addrs: c.Addrs, Master: c.Master, Username: c.Username, Password: c.Password.Reveal(),
		DB: c.DB, TLS: c.TLS, Partitions: c.Partitions,
		WaitReplicas: c.WaitReplicas, WaitTimeout: c.WaitTimeout,
	}
}
