/** Files of other tools that describe a search. */
import { stringify } from 'yaml'

/** The values of AgileRL's tutorial on hyperparameter optimisation for GRPO. */
export const tutorial = `
import torch
from agilerl.algorithms.core.registry import HyperparameterConfig, RLParameter

MODEL = "Qwen/Qwen2.5-0.5B"

def train(hp, mut):
    search = HyperparameterConfig(
        beta=RLParameter(min=mut["MIN_BETA"], max=mut["MAX_BETA"]),
        lr=RLParameter(mut["MIN_LR"], mut["MAX_LR"], 0.5, 2.0),
        group_size=RLParameter(min=4, max=4 * 3, dtype=int),
        no_such_thing=RLParameter(min=1, max=2),
    )
    pop = create_population(algo=hp["ALGO"], INIT_HP=hp, hp_config=search, population_size=hp["POP_SIZE"],
                            algo_kwargs={"lora_config": LoraConfig(r=16, lora_alpha=64, target_modules=["q_proj", "v_proj"])})
    selection = TournamentSelection(hp["TOURN_SIZE"], hp["ELITISM"], hp["POP_SIZE"], hp["EVAL_LOOP"])
    mutations = Mutations(no_mutation=mut["NO_MUT"], architecture=0, new_layer_prob=0.2, parameters=0, activation=0,
                          rl_hp=mut["RL_HP_MUT"], mutation_sd=mut["MUT_SD"], rand_seed=mut["RAND_SEED"])
    finetune_llm_reasoning(pop=pop, init_hp=hp, evaluation_interval=5, evo_steps=20, num_epochs=2,
                           mutation=mutations, tournament=selection, max_reward=2.0)

if __name__ == "__main__":
    MUTATION_PARAMS = {"NO_MUT": 0.1, "RL_HP_MUT": 0.6, "MUT_SD": 0.1, "RAND_SEED": 42, "MIN_LR": 0.0000001,
                       "MAX_LR": 0.00001, "MIN_BETA": 0.0001, "MAX_BETA": 0.01}  # the ranges
    INIT_HP = {"ALGO": "GRPO", "BATCH_SIZE": 16, "BETA": 0.001, "LR": 0.000005, "GROUP_SIZE": 8,
               "TOURN_SIZE": 3, "ELITISM": True, "POP_SIZE": 4, "EVAL_LOOP": 1, "SEEN": torch.cuda.device_count()}
    train(INIT_HP, MUTATION_PARAMS)
`

/** `INIT_HP` with `MUTATION_PARAMS`, as AgileRL's configs have them. */
export const sectionsOf = (settings: Readonly<Record<string, unknown>>): string => {
  const common = {
    ALGO: 'GRPO',
    BATCH_SIZE: 4,
    BETA: 0.002,
    LR: 0.000005,
    GROUP_SIZE: 2,
    TOURN_SIZE: 2,
    ELITISM: false,
  }
  return stringify({
    MUTATION_PARAMS: {
      NO_MUT: 0.1,
      RL_HP_MUT: 0.6,
      MIN_LR: 1e-7,
      MAX_LR: 1e-5,
      MIN_BETA: 1e-4,
      MAX_BETA: 1e-2,
    },
    INIT_HP: { ...common, POP_SIZE: 2, EVO_STEPS: 5, ...settings },
  })
}

export const wandb = `
program: train.py
name: rates
method: bayes
metric: {name: eval/reward, goal: maximize, target: 0.9}
run_cap: 12
early_terminate: {type: hyperband, min_iter: 3, eta: 2, strict: true}
parameters:
  learning_rate: {distribution: log_uniform_values, min: 1.0e-6, max: 1.0e-4}
  beta: {values: [0, 0.04]}
  num_generations: {value: 4}
  temperature: {min: 0.5, max: 1.5}
  max_grad_norm: {distribution: q_uniform, min: 0.5, max: 2, q: 0.5}
  num_iterations: {min: 1, max: 4}
  epsilon: {distribution: beta, a: 2}
  weight_decay: {distribution: normal, mu: 0.1, sigma: 0.01}
  seed: {distribution: categorical_w_probabilities, values: [1, 2], probabilities: [0.9, 0.1]}
  batch_norm_momentum: {min: 0, max: 1}
`
