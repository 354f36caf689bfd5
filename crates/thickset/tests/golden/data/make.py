"""Expected values of the known datasets, computed with pandas and numpy, apart from thickset.

Usage: python make.py DATA_FOLDER > expected.json

The seeded split is written here a second time (SHA-256, ChaCha8, Lemire, Fisher-Yates), so that the golden values check
the random streams as well as the readers and encodings. Made with Python 3, pandas 3.1.1, numpy 2.4.6.
"""

import csv
import gzip
import hashlib
import io
import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(sys.argv[1])
MASK = 0xFFFFFFFF


def content(path):
    plain = ROOT / path
    return plain.read_bytes() if plain.exists() else gzip.decompress((ROOT / (path + ".gz")).read_bytes())


class Stream:
    """A named stream of a seed."""

    def __init__(self, seed, name, index=None):
        data = b"thickset stream 1" + struct.pack("<Q", seed)
        data += b"\0" if index is None else b"\1" + struct.pack("<Q", index)
        key = struct.unpack("<8I", hashlib.sha256(data + name.encode()).digest())
        self.head = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574) + key
        self.counter = 0
        self.words = []

    def block(self):
        start = list(self.head) + [self.counter & MASK, self.counter >> 32, 0, 0]
        x = start[:]

        def quarter(a, b, c, d):
            x[a] = (x[a] + x[b]) & MASK; x[d] ^= x[a]; x[d] = (x[d] << 16 | x[d] >> 16) & MASK
            x[c] = (x[c] + x[d]) & MASK; x[b] ^= x[c]; x[b] = (x[b] << 12 | x[b] >> 20) & MASK
            x[a] = (x[a] + x[b]) & MASK; x[d] ^= x[a]; x[d] = (x[d] << 8 | x[d] >> 24) & MASK
            x[c] = (x[c] + x[d]) & MASK; x[b] ^= x[c]; x[b] = (x[b] << 7 | x[b] >> 25) & MASK

        for _ in range(4):
            quarter(0, 4, 8, 12); quarter(1, 5, 9, 13); quarter(2, 6, 10, 14); quarter(3, 7, 11, 15)
            quarter(0, 5, 10, 15); quarter(1, 6, 11, 12); quarter(2, 7, 8, 13); quarter(3, 4, 9, 14)
        self.counter += 1
        self.words += [(a + b) & MASK for a, b in zip(x, start)]

    def bits(self):
        if not self.words:
            self.block()
        low, high = self.words.pop(0), self.words.pop(0)
        return low | high << 32

    def below(self, end):
        refused = (1 << 64) % end
        while True:
            product = self.bits() * end
            if product & 0xFFFFFFFFFFFFFFFF >= refused:
                return product >> 64

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def split(labels, is_test, seed=0):
    """70/15/15 within each class; with an official test set, 70 to 15 of the rest."""
    parts = np.array(["train"] * len(labels), dtype=object)
    official = any(is_test)
    total = 85 if official else 100
    for label in sorted(set(labels)):
        rows = [row for row in range(len(labels)) if labels[row] == label and not is_test[row]]
        Stream(seed, "split", label).shuffle(rows)
        count = (len(rows) * 15 + total // 2) // total
        train = len(rows) - count * (1 if official else 2)
        parts[rows[train:train + count]] = "validation"
        parts[rows[train + count:]] = "test"
    parts[np.array(is_test, dtype=bool)] = "test"
    return parts


def scaled(column, train):
    low, high = column[train].quantile(0.01), column[train].quantile(0.99)
    if low >= high:
        low, high = column[train].min(), column[train].max()
        return (column - low) / (high - low)
    return (column.clip(low, high) - low) / (high - low)


def one_hot(frame, column, groups):
    return {f"{column}={name}": frame[column].isin(values).astype(float) for name, values in groups.items()}


def facts(features, labels, is_test):
    parts = split(labels, is_test)
    train = parts == "train"
    columns = {}
    for name, make in features.items():
        columns[name] = make(train) if callable(make) else make
    matrix = pd.DataFrame(columns).astype(np.float32)
    return {
        "rows": len(matrix),
        "features": list(matrix.columns),
        "classes": [int(sum(1 for label in labels if label == one)) for one in sorted(set(labels))],
        "split": [int((parts == part).sum()) for part in ("train", "validation", "test")],
        "first_validation_row": int(np.flatnonzero(parts == "validation")[0]),
        "first_row": [float(value) for value in matrix.iloc[0]],
        "last_row": [float(value) for value in matrix.iloc[-1]],
        "train_means": [float(value) for value in matrix[train].astype(np.float64).mean()],
        "test_means": [float(value) for value in matrix[parts == "test"].astype(np.float64).mean()],
    }


def number(frame, name):
    return lambda train: scaled(frame[name].astype(float), train)


def adult():
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
             "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]
    read = lambda path, skip: pd.read_csv(io.BytesIO(content(path)), header=None, names=names, skipinitialspace=True,
                                          skiprows=skip, keep_default_na=False)
    frames = [read("adult/adult.data", 0), read("adult/adult.test", 1)]
    frame = pd.concat(frames, ignore_index=True)
    is_test = [False] * len(frames[0]) + [True] * len(frames[1])
    labels = frame["income"].str.startswith(">50K").astype(int).tolist()
    school = ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th"]
    blue = ["Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct", "Transport-moving"]
    features = {
        "age": number(frame, "age"),
        "hours-per-week": number(frame, "hours-per-week"),
        "sex=Male": (frame["sex"] == "Male").astype(float),
        "race=White": (frame["race"] == "White").astype(float),
        "race=Other": (frame["race"] != "White").astype(float),
        **one_hot(frame, "workclass", {
            "Government": ["Federal-gov", "Local-gov", "State-gov"], "Private": ["Private"],
            "Self-Employed": ["Self-emp-inc", "Self-emp-not-inc"],
            "Other/Unknown": ["Never-worked", "Without-pay", "?"]}),
        **one_hot(frame, "education", {
            "School": school, "HS-grad": ["HS-grad"], "Some-college": ["Some-college"],
            "Assoc": ["Assoc-acdm", "Assoc-voc"], "Bachelors": ["Bachelors"], "Masters": ["Masters"],
            "Prof-school": ["Prof-school"], "Doctorate": ["Doctorate"]}),
        **one_hot(frame, "marital-status", {
            "Single": ["Never-married"],
            "Married": ["Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"],
            "Separated": ["Separated"], "Divorced": ["Divorced"], "Widowed": ["Widowed"]}),
        **one_hot(frame, "occupation", {
            "White-Collar": ["Adm-clerical", "Exec-managerial"], "Blue-Collar": blue,
            "Professional": ["Prof-specialty"], "Sales": ["Sales"],
            "Service": ["Other-service", "Priv-house-serv", "Protective-serv", "Tech-support"],
            "Other/Unknown": ["Armed-Forces", "?"]}),
    }
    return facts(features, labels, is_test)


def bank():
    frame = pd.read_csv(io.BytesIO(content("bank-marketing/bank-full.csv")), sep=";", keep_default_na=False)
    job = {"management": ["management", "entrepreneur", "self-employed"], "technician": ["technician"],
           "administration": ["admin."], "manual and services": ["blue-collar", "housemaid", "services"],
           "retired": ["retired"], "not working": ["student", "unemployed", "unknown"]}
    single = lambda *names: {name: [name] for name in names}
    features = {
        "age": number(frame, "age"),
        "balance": number(frame, "balance"),
        **{f"{name}=yes": (frame[name] == "yes").astype(float) for name in ("default", "housing", "loan")},
        **one_hot(frame, "marital", single("single", "married", "divorced")),
        **one_hot(frame, "education", single("primary", "secondary", "tertiary", "unknown")),
        **one_hot(frame, "job", job),
    }
    return facts(features, (frame["y"] == "yes").astype(int).tolist(), [False] * len(frame))


def compas():
    frame = pd.read_csv(io.BytesIO(content("compas/compas-scores-two-years.csv")))
    frame = frame[frame["days_b_screening_arrest"].between(-30, 30) & (frame["is_recid"] != -1)
                  & (frame["c_charge_degree"] != "O") & frame["score_text"].notna()].reset_index(drop=True)
    single = lambda *names: {name: [name] for name in names}
    features = {
        **{name: number(frame, name)
           for name in ("age", "priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count")},
        "sex=Male": (frame["sex"] == "Male").astype(float),
        "charge is a felony": (frame["c_charge_degree"] == "F").astype(float),
        **one_hot(frame, "race", single("African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other")),
        **one_hot(frame, "age_cat", single("Less than 25", "25 - 45", "Greater than 45")),
    }
    return facts(features, (frame["score_text"] != "Low").astype(int).tolist(), [False] * len(frame))


def wine():
    frame = pd.read_csv(io.BytesIO(content("wine-quality/winequality-red.csv")))
    features = {name: number(frame, name) for name in frame.columns[:-1]}
    return facts(features, (frame["quality"] >= 6).astype(int).tolist(), [False] * len(frame))


def breast_cancer():
    frame = pd.read_csv(io.BytesIO(content("breast-cancer/breast_cancer.csv")), header=None, skiprows=1)
    parts = [f"{kind}{name}{tail}" for kind, tail in (("mean ", ""), ("", " error"), ("worst ", ""))
             for name in ("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
                          "concave points", "symmetry", "fractal dimension")]
    features = {name: number(frame, at) for at, name in enumerate(parts)}
    return facts(features, frame[30].tolist(), [False] * len(frame))


def german():
    """Of each column: its place, and the names of its codes in the order of the codebook, or how the number is called."""
    frame = pd.read_csv(io.BytesIO(content("german-credit/german.data")), sep=" ", header=None, keep_default_na=False)
    coded = {
        "status": (0, ["A11", "A12", "A13", "A14"], ["below 0 DM", "0 to 200 DM", "200 DM and more, or salary for a year",
                                                     "no account"]),
        "duration": 1,
        "history": (2, ["A30", "A31", "A32", "A33", "A34"], [
            "none taken or all paid", "all paid here", "existing paid till now", "delay in the past",
            "critical account or other credits elsewhere"]),
        "purpose": (3, ["A40", "A41", "A42", "A43", "A44", "A45", "A46", "A48", "A49", "A410"], [
            "new car", "used car", "furniture or equipment", "radio or television", "domestic appliances", "repairs",
            "education", "retraining", "business", "others"]),
        "amount": 4,
        "savings": (5, ["A61", "A62", "A63", "A64", "A65"], [
            "below 100 DM", "100 to 500 DM", "500 to 1000 DM", "1000 DM and more", "unknown or none"]),
        "employment": (6, ["A71", "A72", "A73", "A74", "A75"], [
            "unemployed", "below 1 year", "1 to 4 years", "4 to 7 years", "7 years and more"]),
        "installment rate": 7,
        "personal status": (8, ["A91", "A92", "A93", "A94"], [
            "male, divorced or separated", "female, divorced, separated or married", "male, single",
            "male, married or widowed"]),
        "other debtors": (9, ["A101", "A102", "A103"], ["none", "co-applicant", "guarantor"]),
        "residence since": 10,
        "property": (11, ["A121", "A122", "A123", "A124"], [
            "real estate", "building society savings or life insurance", "car or other", "unknown or none"]),
        "age": 12,
        "other installments": (13, ["A141", "A142", "A143"], ["bank", "stores", "none"]),
        "housing": (14, ["A151", "A152", "A153"], ["rent", "own", "for free"]),
        "existing credits": 15,
        "job": (16, ["A171", "A172", "A173", "A174"], [
            "unemployed or unskilled, non-resident", "unskilled, resident", "skilled or official",
            "management, self-employed or highly qualified"]),
        "dependents": 17,
    }
    features = {}
    for column, what in coded.items():
        if isinstance(what, int):
            features[column] = number(frame, what)
        else:
            place, codes, names = what
            assert set(frame[place]) <= set(codes)
            features |= {f"{column}={name}": (frame[place] == code).astype(float) for code, name in zip(codes, names)}
    features["has a telephone"] = (frame[18] == "A192").astype(float)
    features["is a foreign worker"] = (frame[19] == "A201").astype(float)
    return facts(features, (frame[20] == 2).astype(int).tolist(), [False] * len(frame))


def with_gaps(frame, name, high=0.99):
    """A number whose gaps get the training rows' median, and whether it was missing where a training row's is."""
    column = frame[name].astype(float)

    def filled(train):
        low, top = column[train].quantile(0.01), column[train].quantile(high)
        if low >= top:
            low, top = column[train].min(), column[train].max()
        return (column.fillna(column[train].median()).clip(low, top) - low) / (top - low)

    features = {name: filled}
    if column.isna().any():
        features[f"{name} is missing"] = column.isna().astype(float)
    return features


def heloc():
    frame = pd.read_csv(io.BytesIO(content("heloc/heloc_dataset_v1.csv")))
    frame = frame[frame["NumTotalTrades"] >= 0].reset_index(drop=True)
    late = ["derogatory comment", "120 days and more late", "90 days late", "60 days late", "30 days late"]
    codes = {
        "MaxDelq2PublicRecLast12M": dict(zip(late, [[0], [1], [2], [3], [4]]))
        | {"late, unknown how long": [5, 6], "never late": [7], "all other": [8, 9]},
        "MaxDelqEver": dict(zip(late, [[2], [3], [4], [5], [6]])) | {"late, unknown how long": [7], "never late": [8]},
    }
    features = {}
    for name in frame.columns[1:]:
        if name in codes:
            features |= one_hot(frame, name, codes[name])
        else:
            frame[name] = frame[name].where(~frame[name].isin([-7, -8, -9]))
            features |= with_gaps(frame, name)
    return facts(features, (frame["RiskPerformance"] == "Bad").astype(int).tolist(), [False] * len(frame))


def give_me_some_credit():
    frame = pd.read_csv(io.BytesIO(content("give-me-some-credit/cs-training.csv")))
    features = {}
    for name in frame.columns[2:]:
        features |= with_gaps(frame, name, 0.75 if name == "DebtRatio" else 0.99)
    return facts(features, frame["SeriousDlqin2yrs"].tolist(), [False] * len(frame))


def diabetes130():
    frame = pd.read_csv(io.BytesIO(content("diabetes130/diabetic_data.csv")), dtype=str, keep_default_na=False)
    frame = frame[~frame["discharge_disposition_id"].isin(["11", "13", "14", "19", "20", "21"])].reset_index(drop=True)

    def grouped(column, groups, rest=None):
        features = one_hot(frame, column, groups)
        if rest:
            features[f"{column}={rest}"] = 1.0 - sum(features.values())
        return features

    def chapter(code):
        if code.startswith("250"):
            return "diabetes"
        if code[0] in "VE?":
            return None
        number = int(float(code))
        ranges = {"circulatory": [(390, 459), (785, 785)], "respiratory": [(460, 519), (786, 786)],
                  "digestive": [(520, 579), (787, 787)], "injury": [(800, 999)], "musculoskeletal": [(710, 739)],
                  "genitourinary": [(580, 629), (788, 788)], "neoplasm": [(140, 239)]}
        return next((name for name, spans in ranges.items() if any(low <= number <= high for low, high in spans)), None)

    def ages(*tens):
        return [f"[{ten}-{ten + 10})" for ten in tens]

    rest = "other or unknown"
    features = grouped("race", {"Caucasian": ["Caucasian"], "African American": ["AfricanAmerican"], "Hispanic": ["Hispanic"],
                                "Asian": ["Asian"]}, rest)
    features["is male"] = (frame["gender"] == "Male").astype(float)
    features |= grouped("age", {"below 40": ages(0, 10, 20, 30), "40 to 50": ages(40), "50 to 60": ages(50),
                                "60 to 70": ages(60), "70 to 80": ages(70), "80 and more": ages(80, 90)})
    features |= grouped("admission_type_id", {"emergency": ["1"], "urgent": ["2"], "elective": ["3"]}, rest)
    features |= grouped("discharge_disposition_id", {
        "home": ["1"], "home with care": ["6", "8"],
        "another hospital": ["2", "9", "10", "15", "16", "17", "27", "28", "29", "30"],
        "nursing or rehabilitation": ["3", "4", "5", "22", "23", "24"]}, rest)
    features |= grouped("admission_source_id", {
        "referral": ["1", "2", "3"], "emergency room": ["7"],
        "transfer": ["4", "5", "6", "10", "18", "22", "25", "26"]}, rest)
    for name in ("time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications", "number_outpatient",
                 "number_emergency", "number_inpatient", "number_diagnoses"):
        features[name] = number(frame, name)
    chapters = frame["diag_1"].map(chapter)
    named = ["circulatory", "respiratory", "digestive", "diabetes", "injury", "musculoskeletal", "genitourinary", "neoplasm"]
    features |= {f"diag_1={name}": (chapters == name).astype(float) for name in named}
    features[f"diag_1={rest}"] = chapters.isna().astype(float)
    for column, above in (("max_glu_serum", (200, 300)), ("A1Cresult", (7, 8))):
        features |= grouped(column, {"not measured": ["None"], "normal": ["Norm"]}
                            | {f"above {value}": [f">{value}"] for value in above})
    features |= grouped("insulin", {name.lower(): [name] for name in ("No", "Steady", "Up", "Down")})
    for name in ("metformin", "glimepiride", "glipizide", "glyburide", "pioglitazone", "rosiglitazone"):
        features[f"takes {name}"] = (frame[name] != "No").astype(float)
    features["medicine was changed"] = (frame["change"] == "Ch").astype(float)
    features["takes diabetes medicine"] = (frame["diabetesMed"] == "Yes").astype(float)
    return facts(features, (frame["readmitted"] == "<30").astype(int).tolist(), [False] * len(frame))


def images(labels, pixels, classes):
    """`pixels` is [images, features] of bytes."""
    return {"rows": len(labels), "feature_count": pixels.shape[1],
            "classes": [int((labels == one).sum()) for one in range(classes)],
            "first_row_sum": int(pixels[0].astype(np.int64).sum()), "last_row_sum": int(pixels[-1].astype(np.int64).sum()),
            "sum": int(pixels.astype(np.int64).sum()), "row_7": [int(value) for value in pixels[7][300:320]]}


def idx(folder):
    labels, pixels = [], []
    for name in ("train", "t10k"):
        labels.append(np.frombuffer(content(f"{folder}/{name}-labels-idx1-ubyte"), np.uint8, offset=8))
        pixels.append(np.frombuffer(content(f"{folder}/{name}-images-idx3-ubyte"), np.uint8, offset=16).reshape(-1, 784))
    return images(np.concatenate(labels), np.concatenate(pixels), 10)


def cifar(files, classes):
    records = np.concatenate([np.frombuffer(content(path), np.uint8).reshape(-1, 3073) for path in files])
    return images(records[:, 0], records[:, 1:], classes)


def digits():
    frame = pd.read_csv(io.BytesIO(content("digits/digits.csv")), header=None).astype(int)
    return {"rows": len(frame), "feature_count": 64, "classes": frame[64].value_counts().sort_index().tolist(),
            "sum": int(frame.iloc[:, :64].to_numpy().sum()), "first_row_sum": int(frame.iloc[0, :64].sum()),
            "last_row_sum": int(frame.iloc[-1, :64].sum()), "row_7": frame.iloc[7, 30:50].tolist()}


def abide():
    data = content("brain/abide-aal116-corr.i16")
    graphs, edges = struct.unpack("<II", data[8:16])
    records = np.frombuffer(data, np.uint8, offset=16).reshape(graphs, 1 + 2 * edges)
    codes = records[:, 1:].copy().view("<i2")
    return {"rows": graphs, "feature_count": edges, "classes": [int((records[:, 0] == one).sum()) for one in (0, 1)],
            "row_7": [int(value) for value in codes[7][300:320]], "sum": int(codes.astype(np.int64).sum())}


def adhd(entry):
    archive = zipfile.ZipFile(ROOT / "brain/shiruipan-Brain-ADHD200-KKI-OHSU-Peking1.zip")
    text = archive.read(f"Brain/{entry}.nel").decode()
    labels, edges, regions, pairs, per_graph = [], 0, {}, set(), []
    for line in text.splitlines():
        fields = line.split()
        if not fields:
            continue
        if fields[0] == "n":
            regions[fields[1]] = int(fields[2][2:])
        elif fields[0] == "e":
            a, b = sorted((regions[fields[1]], regions[fields[2]]))
            pairs.add((a, b))
        elif fields[0] == "x":
            labels.append(int(fields[1]))
            per_graph.append(sorted(pairs))
            regions, pairs = {}, set()
    return {"rows": len(labels), "feature_count": 190 * 189 // 2,
            "classes": [labels.count(-1), labels.count(1)], "edges": sum(len(pairs) for pairs in per_graph),
            "first_edges": per_graph[0][:5]}


json.dump({
    "tables": {"adult": adult(), "bank": bank(), "compas": compas(), "wine-quality": wine(),
               "breast-cancer": breast_cancer(), "german-credit": german(),
               "heloc": heloc(), "give-me-some-credit": give_me_some_credit(), "diabetes130": diabetes130()},
    "bytes": {"mnist": idx("mnist"), "fashion-mnist": idx("fashion-mnist"), "digits": digits(),
              "cifar10": cifar([f"cifar10/data_batch_{batch}.bin" for batch in (1, 2, 3)] + ["cifar10/test_batch.bin"], 10),
              "gtsrb": cifar([f"gtsrb/gtsrb32-{part}-subset.bin" for part in ("train", "test")], 43)},
    "abide": abide(),
    "adhd": {"adhd-kki": adhd("KKI"), "adhd-ohsu": adhd("OHSU"), "adhd-peking": adhd("Peking_1")},
}, sys.stdout, indent=1)
