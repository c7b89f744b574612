#include "slurm_options.hpp"

namespace muffle::app {

void add_slurm(CLI::App& app, cluster::SlurmJob& job) {
  auto* command = app.add_subcommand("slurm", "print a batch script for Slurm; nothing is run or submitted");
  command->add_option("-c,--config", job.config, "settings, a TOML file")->type_name("FILE")->required();
  command->add_option("--set", job.set, "one setting, section.key=value; may be given again")
      ->type_name("KEY=VALUE")
      ->take_all();
  command->add_option("-o,--out", job.out, "run folder, as the nodes see it")->type_name("DIR")->required();
  command->add_option("--time", job.time, "time limit; a job that reaches it is queued again and goes on")
      ->type_name("TIME")
      ->required();
  const auto text = [&](const char* name, std::string& value, const char* help, const char* type) {
    command->add_option(name, value, help)->type_name(type)->capture_default_str();
  };
  const auto count = [&](const char* name, int& value, const char* help) {
    command->add_option(name, value, help)->type_name("N")->capture_default_str();
  };
  text("--kind", job.kind,
       "whole; embed (CPUs) and then train (GPUs), as two jobs; or seeds, an array of trainings of one "
       "release",
       "KIND");
  text("--launcher", job.launcher, "srun (can be preempted) or mpirun", "NAME");
  count("--nodes", job.nodes, "machines");
  count("--ntasks-per-node", job.ranks_per_node, "ranks on each of them");
  count("--cpus-per-task", job.cores_per_rank, "cores of each rank");
  count("--gpus-per-node", job.gpus_per_node, "GPUs; no fewer than ranks that compute on them (train.ranks)");
  count("--grace", job.grace_s, "seconds before the time limit at which ranks checkpoint and stop");
  text("--seeds", job.seeds, "of --kind seeds: the array", "LIST");
  text("--name", job.name, "the job's name", "NAME");
  text("--muffle", job.muffle, "the binary, as the nodes see it", "FILE");
  text("--partition", job.partition, "partition", "NAME");
  text("--account", job.account, "account", "NAME");
  text("--mem", job.memory, "memory of a node", "SIZE");
}

std::string slurm(const cluster::SlurmJob& job, const ConfigSources& sources) {
  const Stages stages = job.kind == "whole"   ? Stages::all()
                        : job.kind == "embed" ? Stages{.release = true}
                                              : Stages{.train = true, .sample = true};
  const Config config = load_config(sources, stages);
  const auto& d = config.devices;
  return cluster::slurm_script(job, {d.embed, config.train.device, config.train.ranks, d.share_gpus,
                                     config.model.chosen().network() != nullptr});
}

}  // namespace muffle::app
