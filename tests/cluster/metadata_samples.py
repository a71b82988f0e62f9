"""Random metadata logs: records in an order that a controller could have written them in, every kind among them.

From a seed; the same seed gives the same log. The state that a log leads to is whatever it is: tests compare two who
read it.
"""

from __future__ import annotations

from random import Random

from ottla.wire.schema import StoredRecord
from ottla.wire.stored import metadata_records as records

BROKERS = (1, 2, 3, 4)


class LogWriter:
    """Keeps only what it needs to write records that make sense."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.records: list[StoredRecord] = []
        self.brokers: dict[int, int] = {}
        self.topics: dict[bytes, tuple[str, set[int]]] = {}
        self.acls: list[bytes] = []
        self.scram: set[tuple[int, str]] = set()
        self.next_producer_id = 0

    def uuid(self) -> bytes:
        return self.random.randbytes(16)

    def some(self, ids: tuple[int, ...] = BROKERS) -> list[int]:
        return self.random.sample(ids, self.random.randint(1, len(ids)))

    def write(self, count: int) -> list[StoredRecord]:
        # Without the second, Kafka leaves the ELRs out of a snapshot.
        for name, level in (("metadata.version", 30), ("eligible.leader.replicas.version", 1)):
            self.records.append(records.FeatureLevelRecord(name=name, feature_level=level))
        steps = [getattr(self, name) for name in sorted(dir(self)) if name.startswith("step_")]
        while len(self.records) < count:
            self.random.choice(steps)()
        return self.records

    def step_feature(self) -> None:
        name = self.random.choice(["group.version", "transaction.version", "share.version"])
        self.records.append(records.FeatureLevelRecord(name=name, feature_level=self.random.randint(0, 1)))

    def step_register_broker(self) -> None:
        broker_id = self.random.choice(BROKERS)
        self.brokers[broker_id] = len(self.records)
        end_point = records.RegisterBrokerRecord.BrokerEndpoint(
            name="PLAINTEXT", host=f"host{broker_id}", port=9092, security_protocol=0
        )
        feature = records.RegisterBrokerRecord.BrokerFeature(
            name="metadata.version", min_supported_version=7, max_supported_version=30
        )
        self.records.append(
            records.RegisterBrokerRecord(
                broker_id=broker_id,
                incarnation_id=self.uuid(),
                broker_epoch=len(self.records),
                end_points=[end_point],
                features=[feature],
                rack=self.random.choice([None, "a", "b"]),
                fenced=self.random.random() < 0.5,
                log_dirs=sorted(self.uuid() for _ in range(self.random.randint(1, 2))),
                cordoned_log_dirs=self.random.choice([None, [], [self.uuid()]]),
            )
        )

    def step_change_broker(self) -> None:
        if not self.brokers:
            return
        broker_id, epoch = self.random.choice(list(self.brokers.items()))
        kinds = self.random.randint(0, 3)
        if kinds == 0:
            self.records.append(records.FenceBrokerRecord(id=broker_id, epoch=epoch))
        elif kinds == 1:
            self.records.append(records.UnfenceBrokerRecord(id=broker_id, epoch=epoch))
        elif kinds == 2:
            del self.brokers[broker_id]
            self.records.append(records.UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch))
        else:
            self.records.append(
                records.BrokerRegistrationChangeRecord(
                    broker_id=broker_id,
                    broker_epoch=epoch,
                    fenced=self.random.randint(-1, 1),
                    in_controlled_shutdown=self.random.randint(0, 1),
                    log_dirs=self.random.choice([[], [self.uuid()]]),
                    cordoned_log_dirs=self.random.choice([None, [], [self.uuid()]]),
                )
            )

    def step_register_controller(self) -> None:
        end_point = records.RegisterControllerRecord.ControllerEndpoint(
            name="CONTROLLER", host="c", port=9093, security_protocol=0
        )
        self.records.append(
            records.RegisterControllerRecord(
                controller_id=self.random.randint(1, 3),
                incarnation_id=self.uuid(),
                zk_migration_ready=False,
                end_points=[end_point],
                features=[],
            )
        )

    def step_topic(self) -> None:
        topic_id = self.uuid()
        name = f"topic{len(self.records)}"
        self.topics[topic_id] = (name, set())
        self.records.append(records.TopicRecord(name=name, topic_id=topic_id))
        for _ in range(self.random.randint(0, 3)):
            self.step_partition(topic_id)

    def step_partition(self, topic_id: bytes | None = None) -> None:
        if not self.topics:
            return
        topic_id = topic_id or self.random.choice(list(self.topics))
        partitions = self.topics[topic_id][1]
        partition_id = len(partitions)
        partitions.add(partition_id)
        replicas = self.some()
        self.records.append(
            records.PartitionRecord(
                partition_id=partition_id,
                topic_id=topic_id,
                replicas=replicas,
                isr=replicas[: self.random.randint(0, len(replicas))],
                removing_replicas=[],
                adding_replicas=self.random.choice([[], replicas[:1]]),
                leader=self.random.choice([-1, replicas[0]]),
                leader_recovery_state=self.random.randint(0, 1),
                leader_epoch=self.random.randint(0, 9),
                partition_epoch=self.random.randint(0, 9),
                directories=[self.uuid() for _ in replicas],
                eligible_leader_replicas=self.random.choice([None, replicas[-1:]]),
                last_known_elr=self.random.choice([None, replicas[:1]]),
            )
        )

    def step_change_partition(self) -> None:
        choices = [(topic_id, id) for topic_id, (_, ids) in self.topics.items() for id in ids]
        if not choices:
            return
        topic_id, partition_id = self.random.choice(choices)
        change = records.PartitionChangeRecord(partition_id=partition_id, topic_id=topic_id)
        if self.random.random() < 0.5:
            change.isr = self.some()
            change.leader = self.random.choice([-2, -1, 1])
        else:
            change.replicas = self.some()
            change.directories = [self.uuid() for _ in change.replicas]
            change.removing_replicas = self.random.choice([[], self.some()])
            change.adding_replicas = self.random.choice([[], self.some()])
        change.leader_recovery_state = self.random.randint(-1, 1)
        change.eligible_leader_replicas = self.random.choice([None, [], self.some()])
        change.last_known_elr = self.random.choice([None, [], self.some()])
        self.records.append(change)

    def step_clear_elr(self) -> None:
        names = ["", *(name for name, _ in self.topics.values())]
        self.records.append(records.ClearElrRecord(topic_name=self.random.choice(names)))

    def step_remove_topic(self) -> None:
        if self.topics and self.random.random() < 0.5:
            topic_id = self.random.choice(list(self.topics))
            del self.topics[topic_id]
            self.records.append(records.RemoveTopicRecord(topic_id=topic_id))

    def step_config(self) -> None:
        names = [(4, ""), (4, "1"), (16, "metrics"), (32, "group"), *((2, name) for name, _ in self.topics.values())]
        resource_type, name = self.random.choice(names)
        self.records.append(
            records.ConfigRecord(
                resource_type=resource_type,
                resource_name=name,
                name=self.random.choice(["retention.ms", "min.insync.replicas"]),
                value=self.random.choice([None, "1", "2"]),
            )
        )

    def step_quota(self) -> None:
        kinds = self.random.choice([("user",), ("client-id",), ("user", "client-id"), ("ip",)])
        entity = [
            records.ClientQuotaRecord.EntityData(entity_type=kind, entity_name=self.random.choice([None, "10.0.0.1"]))
            for kind in kinds
        ]
        remove = self.random.random() < 0.3
        key = self.random.choice(["producer_byte_rate", "consumer_byte_rate"])
        value = 0.0 if remove else float(self.random.randint(1, 9))
        self.records.append(records.ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove))

    def step_producer_ids(self) -> None:
        self.next_producer_id += 1000
        # What a snapshot says: nobody asks a second time who took the block.
        self.records.append(
            records.ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=self.next_producer_id)
        )

    def step_acl(self) -> None:
        if self.acls and self.random.random() < 0.4:
            acl_id = self.acls.pop(self.random.randrange(len(self.acls)))
            self.records.append(records.RemoveAccessControlEntryRecord(id=acl_id))
            return
        self.acls.append(self.uuid())
        self.records.append(
            records.AccessControlEntryRecord(
                id=self.acls[-1],
                resource_type=2,
                resource_name="t",
                pattern_type=3,
                principal="User:a",
                host="*",
                operation=3,
                permission_type=3,
            )
        )

    def step_scram(self) -> None:
        if self.scram and self.random.random() < 0.4:
            mechanism, name = self.random.choice(sorted(self.scram))
            self.scram.discard((mechanism, name))
            self.records.append(records.RemoveUserScramCredentialRecord(name=name, mechanism=mechanism))
            return
        mechanism, name = self.random.randint(1, 2), self.random.choice(["alice", "bob"])
        self.scram.add((mechanism, name))
        self.records.append(
            records.UserScramCredentialRecord(
                name=name,
                mechanism=mechanism,
                salt=self.uuid(),
                stored_key=self.uuid(),
                server_key=self.uuid(),
                iterations=4096,
            )
        )

    def step_token(self) -> None:
        token_id = self.random.choice(["one", "two"])
        if self.random.random() < 0.4:
            self.records.append(records.RemoveDelegationTokenRecord(token_id=token_id))
            return
        self.records.append(
            records.DelegationTokenRecord(
                owner="User:a",
                requester="User:b",
                renewers=["User:c"],
                issue_timestamp=1,
                max_timestamp=3,
                expiration_timestamp=2,
                token_id=token_id,
            )
        )

    def step_nothing(self) -> None:
        self.records.append(records.NoOpRecord())

    def step_migration(self) -> None:
        self.records.append(records.ZkMigrationStateRecord(zk_migration_state=0))


def metadata_log(seed: int, count: int = 60) -> list[StoredRecord]:
    """Some records, of every kind that describes state."""
    return LogWriter(seed).write(count)
