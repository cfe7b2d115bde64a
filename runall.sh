#!/bin/sh
cd /tmp/hkx
python3 touch.py > /tmp/hkx/touch.log 2>&1
python3 mutate.py hand /tmp/hkx/hand.jsonl > /tmp/hkx/hand.log 2>&1
python3 mutate.py auto /tmp/hkx/auto.jsonl > /tmp/hkx/auto.log 2>&1
