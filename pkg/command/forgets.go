package command

import "log/slog"

type forgetful interface{ Forgets() string }

// WarnOfLoss says at start what this Redis may forget of what it accepts.
func WarnOfLoss(redis forgetful, log *slog.Logger) {
	if what := redis.Forgets(); what != "" {
		log.Warn("if Redis dies it may forget accepted orders", "which", what, "see", `README, "What a crash of Redis can take"`)
	}
}
