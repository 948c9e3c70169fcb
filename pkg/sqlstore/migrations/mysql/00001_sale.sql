-- +goose Up

-- What is on sale. stock + live orders = total, at every moment.
CREATE TABLE IF NOT EXISTS seckill_voucher (
    id                 BIGINT       NOT NULL AUTO_INCREMENT,
    title              VARCHAR(200) NOT NULL,
    price              BIGINT       NOT NULL, -- minor units
    currency           CHAR(3)      NOT NULL,
    total              BIGINT       NOT NULL,
    stock              BIGINT       NOT NULL,
    begin_at           BIGINT       NOT NULL, -- Unix ms, like every time here
    end_at             BIGINT       NOT NULL,
    version            BIGINT       NOT NULL DEFAULT 1, -- raised by each change
    epoch              BIGINT       NOT NULL DEFAULT 1, -- raised by each sync
    idempotency_key    VARBINARY(255), -- of the request that created it; bytes, so that case counts
    idempotency_digest VARBINARY(32),
    created_at         BIGINT       NOT NULL,
    updated_at         BIGINT       NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT seckill_voucher_key UNIQUE (idempotency_key),
    CONSTRAINT seckill_voucher_stock CHECK (stock >= 0 AND stock <= total)
) ENGINE = InnoDB AUTO_INCREMENT = 1001 DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- One row for each accepted order. No foreign key: it would lock the voucher's row before
-- the deduction does, in the other order.
CREATE TABLE IF NOT EXISTS voucher_order (
    id          BIGINT      NOT NULL, -- the order id
    user_id     BIGINT      NOT NULL,
    voucher_id  BIGINT      NOT NULL,
    status      VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    live        TINYINT     GENERATED ALWAYS AS (CASE WHEN status IN ('created', 'paid') THEN 1 END) STORED,
    release_due TINYINT     NOT NULL DEFAULT 0, -- dead, and Redis may still count its unit as sold
    reason      VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    created_at  BIGINT      NOT NULL,
    updated_at  BIGINT      NOT NULL,
    expires_at  BIGINT, -- NULL: never
    PRIMARY KEY (id),
    -- The last guard of "one per user"; also finds a user's orders.
    CONSTRAINT voucher_order_live UNIQUE (user_id, voucher_id, live),
    CONSTRAINT voucher_order_ids CHECK (id > 0 AND user_id > 0 AND voucher_id > 0),
    INDEX voucher_order_books (voucher_id, status, release_due),
    -- For both sweeps: releases that are due, and unpaid orders past their time.
    INDEX voucher_order_due (release_due, status, expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;
