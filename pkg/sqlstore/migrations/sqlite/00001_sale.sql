-- +goose Up

-- The same tables as for MySQL, whose file says what they mean.
CREATE TABLE seckill_voucher (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    title              TEXT    NOT NULL,
    price              INTEGER NOT NULL,
    currency           TEXT    NOT NULL,
    total              INTEGER NOT NULL,
    stock              INTEGER NOT NULL,
    begin_at           INTEGER NOT NULL,
    end_at             INTEGER NOT NULL,
    version            INTEGER NOT NULL DEFAULT 1,
    epoch              INTEGER NOT NULL DEFAULT 1,
    idempotency_key    BLOB,
    idempotency_digest BLOB,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    CONSTRAINT seckill_voucher_key UNIQUE (idempotency_key),
    CONSTRAINT seckill_voucher_stock CHECK (stock >= 0 AND stock <= total)
);
INSERT INTO sqlite_sequence (name, seq) VALUES ('seckill_voucher', 1000);

CREATE TABLE voucher_order (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL,
    voucher_id  INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    live        INTEGER GENERATED ALWAYS AS (CASE WHEN status IN ('created', 'paid') THEN 1 END) STORED,
    release_due INTEGER NOT NULL DEFAULT 0,
    reason      TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    CONSTRAINT voucher_order_live UNIQUE (user_id, voucher_id, live),
    CONSTRAINT voucher_order_ids CHECK (id > 0 AND user_id > 0 AND voucher_id > 0)
);
CREATE INDEX voucher_order_books ON voucher_order (voucher_id, status, release_due);
CREATE INDEX voucher_order_due ON voucher_order (release_due, status, expires_at);
